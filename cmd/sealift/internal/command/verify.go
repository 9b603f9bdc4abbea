package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/disk"
	"sealift/cmd/sealift/internal/download"
	"sealift/cmd/sealift/internal/verify"
)

// proof is what `export verify` was given.
type proof struct {
	receipt string
	id      string
	keys    string
	number  int
}

func (a *app) verifyCommand() *cobra.Command {
	var p proof
	command := &cobra.Command{
		Use: "verify PATH", Short: "Prove that a file, or a folder of files, is what an export published", Args: exactly("a PATH"),
		Long: `Compare a file with its receipt: size, CRC-64/NVME of the whole and of each segment, every record parsed strictly, the
number of rows and NULL values, the columns and header, and the receipt with itself. The file has to be as it was
downloaded: verify it before it is unpacked. With --receipt nothing is asked of the service. The exit code is 7 when
anything differs.

With --keys the receipt's signature is checked first, so that a receipt from anywhere can be relied on; one without a right
signature is refused, also when it has none, as those of exports that older releases have completed.

Of an export of many files PATH is the folder that holds them, in which the manifest and every file must be there and right
and whatever else is there is named; or it is one of the files, which is found by its name, else by --file.`,
		Example: `  sealift export verify orders.csv.gz --job ID
  sealift export receipt ID --output orders.receipt.json && sealift export verify orders.csv.gz --receipt orders.receipt.json
  sealift export verify orders.csv.gz --receipt orders.receipt.json --keys sealift.keys.json
  sealift export verify orders-20260201 --job ID`,
	}
	flags := command.Flags()
	flags.StringVar(&p.receipt, "receipt", "", "file that holds the receipt")
	flags.StringVar(&p.id, "job", "", "ID of the export whose receipt the service is asked for")
	flags.StringVar(&p.keys, "keys", "", "file that holds the service's public keys, a JWK Set; the receipt must be signed by one of them")
	flags.IntVar(&p.number, "file", 0, "number of the file of many that PATH is, when its name doesn't say so")
	apart(command, "receipt", "job")
	command.RunE = a.do(func(ctx context.Context, args []string) error {
		if p.receipt == "" && p.id == "" {
			return usage(errors.New("there is nothing to compare the file with; give --receipt FILE or --job ID"))
		}
		if p.id != "" {
			if err := checkID(p.id); err != nil {
				return usage(err)
			}
		}
		if err := checkNumber(flags.Changed("file"), p.number); err != nil {
			return err
		}
		return a.verify(ctx, args[0], p)
	})
	return command
}

// receiptBytesMax bounds a receipt; those of ten thousand shards are the largest.
const receiptBytesMax = 64 << 20

// receiptOf reads the receipt and, when there are keys, checks its signature.
func (a *app) receiptOf(ctx context.Context, p proof) (verify.Receipt, error) {
	if p.receipt == "" {
		return a.receiptByID(ctx, p)
	}
	text, err := disk.Read(p.receipt, receiptBytesMax)
	if err != nil {
		return verify.Receipt{}, fmt.Errorf("%w; save one with `sealift export receipt ID --output FILE`", err)
	}
	receipt, err := verify.Read(text)
	if err == nil && p.keys != "" {
		receipt, err = prove(receipt, p.keys)
	}
	var fault *disk.Fault
	if err != nil && !errors.As(err, &fault) {
		return verify.Receipt{}, &disk.Fault{Path: p.receipt, Text: p.receipt + ": " + err.Error(), Err: err}
	}
	return receipt, err
}

func (a *app) receiptByID(ctx context.Context, p proof) (verify.Receipt, error) {
	c, err := a.client()
	if err != nil {
		return verify.Receipt{}, err
	}
	text, err := c.Receipt(ctx, p.id)
	if err != nil {
		return verify.Receipt{}, err
	}
	receipt, err := verify.Read(text)
	if err == nil && receipt.Job() != p.id {
		err = &verify.Malformed{Err: fmt.Errorf("the service answered with the receipt of export %s", receipt.Job())}
	}
	if err == nil && p.keys != "" {
		return prove(receipt, p.keys)
	}
	return receipt, err
}

func (a *app) verify(ctx context.Context, path string, p proof) error {
	if _, err := os.Stat(path); err != nil {
		return disk.Explain("read", path, err)
	}
	receipt, err := a.receiptOf(ctx, p)
	if err != nil {
		return err
	}
	display := a.display()
	defer display.Clear()
	meter := meterBytes{app: a, display: display}
	if download.IsFolder(path) {
		if p.number != 0 {
			return usage(errors.New("--file says which file of many a file is, and " + path + " is a folder; leave it out"))
		}
		report, err := receipt.Folder(ctx, path, meter.show)
		display.Clear()
		if err != nil {
			return err
		}
		return a.verifiedFolder(path, p.receipt, report)
	}
	index, err := receipt.Find(path, p.number)
	if err != nil {
		return usage(err)
	}
	report, err := receipt.FileAt(ctx, path, index, meter.show)
	display.Clear()
	if err != nil {
		return err
	}
	return a.verifiedFile(path, p.receipt, report)
}

// differs ends a command that found a difference. What it advises replaces nothing that is there: a file that isn't the
// published one may be right all the same, as that of another export.
func differs(job, what, advice string) error {
	return &ending{exitDifferent, "file-differs", fmt.Errorf("%s\n%s; where only the receipt disagrees with itself, get that anew with `sealift export receipt %s`", what, advice, job)}
}

// fileDiffers is differs of one file.
func fileDiffers(path, what string, report verify.Report, more ...string) error {
	words := append([]string{"sealift export download", report.Job}, more...)
	words = append(words, "--output", shellWord(unused(filepath.Join(filepath.Dir(path), report.File))))
	return differs(report.Job, fmt.Sprintf("%s is not %s that export %s published, which is named %s", path, what, report.Job, report.File),
		fmt.Sprintf("it is damaged or was changed, or it is the file of another export; download the published one with `%s`", strings.Join(words, " ")))
}

// folderDiffers is differs of a folder.
func folderDiffers(path string, report verify.FolderReport) error {
	into := func(folder string) string {
		return fmt.Sprintf("`sealift export download %s --output %s`", report.Job, shellWord(folder))
	}
	again := fmt.Sprintf("where files of it are damaged, move those away and fetch them again with %s, which keeps the others", into(path))
	if report.Lacking() {
		again = "where it is that export's, fetch what is missing with " + into(path)
	}
	return differs(report.Job, fmt.Sprintf("%s is not all that export %s published", path, report.Job),
		fmt.Sprintf("%s; where it is the folder of another export, download this one beside it with %s", again, into(unused(named(path)))))
}

// named is a path that ends in a name, which that of the current folder or the one around it doesn't.
func named(path string) string {
	path = filepath.Clean(path)
	if base := filepath.Base(path); base == "." || base == ".." {
		if whole, err := filepath.Abs(path); err == nil {
			return whole
		}
	}
	return path
}

// unusedMax bounds how many names are tried for one that isn't there.
const unusedMax = 100

// unused is a path, or when something is there the first with a number before its name where nothing is.
func unused(path string) string {
	folder, name := filepath.Split(path)
	for number := 2; number < unusedMax; number++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			break
		}
		path = folder + strconv.Itoa(number) + "-" + name
	}
	return path
}

// shellWord quotes a path where a shell would read it as more than one word.
func shellWord(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`$&|;<>()*?[]{}~#!\\", r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func (a *app) verifiedFile(path, receipt string, report verify.Report) error {
	what, again := "the file", []string(nil)
	if report.Number > 0 {
		what, again = fmt.Sprintf("file %d", report.Number), []string{"--file", strconv.Itoa(report.Number)}
	}
	if a.json {
		if err := a.out.json(report); err != nil {
			return err
		}
	} else {
		a.out.table(checkLines("", report.Checks))
	}
	if !report.OK {
		return fileDiffers(path, what, report, again...)
	}
	if !a.json {
		a.out.printf("%s is %s of export %s: %s, %s\n", filepath.Base(path), what, report.Job, counted(report.Rows, "row", "rows"), size(report.Bytes))
		a.changes(report.File, report.Fidelity)
		a.unproven(receipt, report.Signature)
	}
	return nil
}

// unproven says how to check the signature of a receipt in a file, where that was not done. One that the service was asked for
// is its own.
func (a *app) unproven(receipt string, proof verify.Proof) {
	if receipt != "" && proof == verify.Unproven {
		a.out.printf("the receipt's signature was not checked: save the service's keys with `sealift export receipt-keys --output FILE` and give --keys FILE\n")
	}
}

// checkLines are the lines of a table of checks, each with the file that it is of.
func checkLines(file string, checks []verify.Check) [][]string {
	rows := [][]string{}
	for _, check := range checks {
		result := "ok"
		if !check.OK {
			result = "DIFFERS"
		}
		rows = append(rows, []string{result, strings.TrimSpace(file + " " + check.Name), check.Detail})
	}
	return rows
}

// extraMax bounds how many names of what else is in a folder are told to people.
const extraMax = 10

// verifiedFolder tells what was found in a folder: a line for each file that is right, and for any other what differs.
func (a *app) verifiedFolder(path, receipt string, report verify.FolderReport) error {
	report.Extra = slices.DeleteFunc(report.Extra, func(name string) bool { return sameFile(filepath.Join(path, name), receipt) })
	if a.json {
		if err := a.out.json(report); err != nil {
			return err
		}
	} else {
		rows := checkLines("", report.Checks)
		for _, f := range report.Files {
			if f.OK {
				rows = append(rows, []string{"ok", f.File, counted(f.Rows, "row", "rows") + ", " + size(f.Bytes)})
				continue
			}
			wrong := slices.DeleteFunc(slices.Clone(f.Checks), func(c verify.Check) bool { return c.OK })
			rows = append(rows, checkLines(f.File+":", wrong)...)
		}
		a.out.table(rows)
		a.extra(report.Extra)
	}
	if !report.OK {
		return folderDiffers(path, report)
	}
	if !a.json {
		a.out.printf("%s holds all of export %s: %s, %s, %s\n", path, report.Job, counted(int64(len(report.Files)), "file", "files"),
			counted(report.Rows, "row", "rows"), size(report.Bytes))
		a.changes(report.Files[0].File, report.Fidelity)
		a.unproven(receipt, report.Signature)
	}
	return nil
}

// extra names what else is in a folder.
func (a *app) extra(names []string) {
	if len(names) == 0 {
		return
	}
	text := strings.Join(names[:min(len(names), extraMax)], ", ")
	if more := len(names) - extraMax; more > 0 {
		text += " and " + counted(int64(more), "other", "others")
	}
	a.out.printf("also there, and not of the export: %s\n", text)
}

func sameFile(a, b string) bool {
	if b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
