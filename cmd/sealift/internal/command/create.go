package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/ask"
	"sealift/cmd/sealift/internal/client"
)

// create is what `export create` was given.
type create struct {
	words    ask.Words
	header   bool
	null     string
	request  string
	key      string
	watch    bool
	download string
	force    bool
	dryRun   bool
}

const createLong = `Ask for an export. The service answers at once with the export's id; --watch waits for its end.

Times are RFC 3339 with an offset, as in 2026-01-31T00:00:00+08:00; a day such as 2026-01-31 is its midnight in --zone.
--from is inclusive, --to exclusive.

Filters, all of which must hold:
` + ask.FilterHelp + `

Without --idempotency-key a random one is used, so that the command's own retries never start a second export. Give one
of your own to make the whole command safe to repeat.`

func (a *app) createCommand() *cobra.Command {
	var c create
	command := &cobra.Command{
		Use: "create", Short: "Ask for an export", Long: createLong, Args: exactly(),
		Example: `  sealift export create --definition orders --purpose "month end" --from 2026-01-01 --to 2026-02-01 --watch
  sealift export create --definition orders --purpose refunds --from 2026-01-01 --filter 'status in refunded,partly' \
    --filter 'amount>=100' --column order_id,amount --format jsonl --download refunds.jsonl.gz
  sealift export create --request request.json --dry-run`,
	}
	flags := command.Flags()
	w := &c.words
	flags.StringVar(&w.Definition, "definition", "", "what to export")
	flags.StringVar(&w.Purpose, "purpose", "", "what the export is for")
	flags.StringVar(&w.From, "from", "", "business time from which rows are wanted, inclusive")
	flags.StringVar(&w.To, "to", "", "business time until which rows are wanted, exclusive; the cutoff when not given")
	flags.StringVar(&w.AsOf, "as-of", "", "cutoff; now when not given")
	flags.StringVar(&w.Zone, "zone", "", "zone in which times are written, as in Asia/Shanghai (default UTC)")
	flags.StringSliceVar(&w.Columns, "column", nil, "columns in their order, comma-separated or given several times; all when not given")
	flags.StringArrayVar(&w.Filters, "filter", nil, "filter, as explained above; may be given several times")
	flags.StringVar(&w.Format, "format", "", "csv or jsonl; the definition's first when not given")
	flags.StringVar(&w.Compression, "compression", "", "gzip, zstd or none; the definition's first when not given")
	flags.StringVar(&w.FileName, "file-name", "", "name of the file that is delivered")
	flags.StringVar(&w.Delimiter, "delimiter", "", "csv: comma, semicolon, tab or pipe, or the character itself (default comma)")
	flags.StringVar(&w.Quote, "quote", "", `csv: " or ' (default ")`)
	flags.StringVar(&w.LineEnd, "line-end", "", "csv: crlf or lf (default crlf)")
	flags.BoolVar(&c.header, "header", true, "csv: begin with the columns' names")
	flags.BoolVar(&w.BOM, "bom", false, "csv: begin with a byte order mark, for old spreadsheets")
	flags.StringVar(&c.null, "null", "", "csv: unquoted text that stands for NULL (default empty)")
	flags.StringVar(&c.request, "request", "", "file with the request as the API takes it, or - for stdin, instead of the flags above")
	flags.StringVar(&c.key, "idempotency-key", "", "key under which the same request is the same export")
	flags.BoolVar(&c.watch, "watch", false, "wait for the end and show the progress")
	flags.StringVar(&c.download, "download", "", "wait for the end and download to this file or folder")
	flags.BoolVar(&c.force, "force", false, "with --download: replace a file that exists")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only ask whether the request would be granted, and as what")
	for _, name := range []string{
		"definition", "purpose", "from", "to", "as-of", "zone", "column", "filter", "format", "compression", "file-name", "delimiter", "quote",
		"line-end", "header", "bom", "null",
	} {
		command.MarkFlagsMutuallyExclusive("request", name)
	}
	command.MarkFlagsMutuallyExclusive("dry-run", "watch")
	command.MarkFlagsMutuallyExclusive("dry-run", "download")
	complete(command, "format", "csv", "jsonl")
	complete(command, "compression", "gzip", "zstd", "none")
	complete(command, "delimiter", "comma", "semicolon", "tab", "pipe")
	complete(command, "line-end", "crlf", "lf")
	command.RunE = a.do(func(ctx context.Context, _ []string) error {
		if flags.Changed("header") {
			w.Header = &c.header
		}
		if flags.Changed("null") {
			w.Null = &c.null
		}
		return a.create(ctx, c)
	})
	return command
}

// complete lets shells complete a flag's values.
func complete(command *cobra.Command, flag string, values ...cobra.Completion) {
	// The only error is a flag that isn't there or is completed already.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) create(ctx context.Context, c create) error {
	request, err := a.request(c)
	if err != nil {
		return usage(err)
	}
	api, err := a.client()
	if err != nil {
		return err
	}
	if c.dryRun {
		return a.validate(ctx, api, request)
	}
	if c.key == "" {
		c.key = a.system.NewID()
	}
	seen, err := api.Create(ctx, request, c.key)
	if err != nil {
		return unsure(err, c.key)
	}
	if a.json {
		if err := a.out.json(compact(seen.Body)); err != nil {
			return err
		}
	} else {
		a.created(seen, c)
	}
	if !c.watch && c.download == "" {
		return nil
	}
	export, err := a.watch(ctx, api, seen)
	if err != nil || c.download == "" {
		return err
	}
	return a.download(ctx, api, export.ID, fetch{output: c.download, force: c.force})
}

const requestBytesMax = 16 << 20

func (a *app) request(c create) ([]byte, error) {
	if c.request == "" {
		return c.words.Request()
	}
	from := a.system.Stdin
	if c.request != "-" {
		f, err := os.Open(c.request)
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, requestBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if len(text) > requestBytesMax {
		return nil, fmt.Errorf("the request %s has more than %d bytes", c.request, requestBytesMax)
	}
	return text, nil
}

// unsure says how to go on when it isn't known whether the request arrived.
func unsure(err error, key string) error {
	var called *client.Error
	lost := errors.As(err, &called) && (called.Status == 0 || called.Status >= 500) && called.Code != "connection-refused"
	if lost || interrupted(err) {
		return fmt.Errorf("%w\nthe request may have arrived; repeat it with --idempotency-key %s and there is one export in any case", err, key)
	}
	return err
}

func (a *app) created(seen client.Seen, c create) {
	if seen.Replayed {
		a.out.printf("export %s was asked for before under this key and is %s\n", seen.Export.ID, seen.Export.State)
	} else {
		a.out.printf("export %s is %s\n", seen.Export.ID, seen.Export.State)
	}
	if !c.watch && c.download == "" {
		a.err.printf("watch it with `sealift export watch %s`\n", seen.Export.ID)
	}
}

func (a *app) validate(ctx context.Context, api *client.Client, request []byte) error {
	body, err := api.Validate(ctx, request)
	if err != nil {
		return err
	}
	if a.json {
		return a.out.json(compact(body))
	}
	var granted struct {
		Digest   string `json:"snapshot_sha256"`
		Snapshot struct {
			Definition string                  `json:"definition"`
			Version    int64                   `json:"definition_version"`
			Columns    []struct{ Name string } `json:"columns"`
			Since      string                  `json:"since"`
			Until      string                  `json:"until"`
			FileName   string                  `json:"file_name"`
		} `json:"snapshot"`
	}
	if err := json.Unmarshal(body, &granted); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	s := granted.Snapshot
	a.out.printf("the request would be granted\n")
	a.out.table([][]string{
		{"definition", fmt.Sprintf("%s version %d", s.Definition, s.Version)}, {"columns", fmt.Sprint(len(s.Columns))},
		{"from", s.Since}, {"until", s.Until}, {"file", s.FileName}, {"snapshot sha256", granted.Digest},
	})
	return nil
}
