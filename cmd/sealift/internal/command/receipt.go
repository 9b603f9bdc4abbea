package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/disk"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/verify"
	"sealift/shared/signature"
)

func (a *app) receiptCommand() *cobra.Command {
	output, force := "", false
	command := &cobra.Command{
		Use: "receipt ID", Short: "Show the receipt of a completed export", Args: wantID,
		Long: `Show the receipt of a completed export, byte for byte: what was asked for, the typed columns, and the file's rows, bytes,
checksums and key ranges. With it a file can be verified offline; with the keys of ` + "`export receipt-keys`" + `, so can the receipt.`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if output != "" && output != "-" {
				return a.saveReceipt(ctx, c, args[0], fetch{receipt: output, flag: "--output", force: force})
			}
			text, err := c.Receipt(ctx, args[0])
			if err != nil {
				return err
			}
			a.out.write(string(text))
			return nil
		}),
	}
	command.Flags().StringVarP(&output, "output", "o", "", "file to write to; stdout when it is - or not given")
	command.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return command
}

func (a *app) receiptKeysCommand() *cobra.Command {
	output, force := "", false
	command := &cobra.Command{
		Use: "receipt-keys", Short: "Show the public keys that receipts are verified with", Args: exactly(),
		Long: `Show the public keys that the service signs receipts with, as a JWK Set (RFC 7517). Keep them where nobody else writes: with
them and a receipt a file is verified offline, for as long as you keep it.`,
		Example: `  sealift export receipt-keys --output sealift.keys.json
  sealift export verify orders.csv.gz --receipt orders.receipt.json --keys sealift.keys.json`,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			text, err := c.ReceiptKeys(ctx)
			if err != nil {
				return err
			}
			if _, err := signature.ReadSet(text); err != nil {
				return fmt.Errorf("the service answered with something else than its keys: %w; is --endpoint the address of Sealift's API?", err)
			}
			if output != "" && output != "-" {
				return save(text, "the keys", fetch{output: output, flag: "--output", force: force})
			}
			a.out.write(string(text))
			return nil
		}),
	}
	command.Flags().StringVarP(&output, "output", "o", "", "file to write to; stdout when it is - or not given")
	command.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return command
}

// saveReceipt writes the receipt to the file that f names.
func (a *app) saveReceipt(ctx context.Context, c *client.Client, id string, f fetch) error {
	text, err := c.Receipt(ctx, id)
	if err != nil {
		return err
	}
	return save(text, "the receipt", fetch{output: f.receipt, flag: f.flag, force: f.force})
}

// save writes a small text to f's output; what says what it is.
func save(text []byte, what string, f fetch) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.output, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return &download.Exists{File: f.output, Flag: f.flag}
	}
	if err != nil {
		return fmt.Errorf("%w; choose another place for %s with %s", disk.Explain("written", f.output, err), what, f.flag)
	}
	_, err = file.Write(text)
	return disk.Explain("written", f.output, errors.Join(err, file.Close()))
}

// keysBytesMax bounds a set of keys.
const keysBytesMax = 1 << 20

// prove checks the signature of a receipt with the keys in a file.
func prove(receipt verify.Receipt, path string) (verify.Receipt, error) {
	const how = "save the service's keys with `sealift export receipt-keys --output FILE`"
	text, err := disk.Read(path, keysBytesMax)
	if err != nil {
		return verify.Receipt{}, fmt.Errorf("%w; %s", err, how)
	}
	keys, err := signature.ReadSet(text)
	if err != nil {
		return verify.Receipt{}, &disk.Fault{Path: path, Text: fmt.Sprintf("%s: %s; %s", path, err, how), Err: err}
	}
	return receipt.Prove(keys)
}
