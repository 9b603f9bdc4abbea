package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sealift/cmd/sealift/internal/ask"
	"sealift/cmd/sealift/internal/client"
	"sealift/cmd/sealift/internal/disk"
	"sealift/cmd/sealift/internal/download"
	"sealift/shared/definition"
	"sealift/shared/pipeline"
	"sealift/shared/snapshot"
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

// guardHelp says what the formula guard does to values.
const guardHelp = `In CSV, text that a spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a line end, also full-width
or behind white space) gets an apostrophe before it, and in XLSX its cell is marked as text, unless the definition keeps
formulas. How many values that were is said at the end and stands in the receipt. Numbers are never touched. JSON Lines and
Parquet need no guard and have none.`

const createLong = `Ask for an export. The service answers at once with the export's id; --watch waits for its end.

--from is inclusive, --to exclusive. Each is a day such as 2026-01-31, which is its beginning in --zone (midnight, or later
where the clocks were set forward over it), or a time with its offset, as in 2026-01-31T09:30:00+08:00 (RFC 3339). A span
ends at the cutoff where --to is later, which is said then; in JSON request.span is what it became. What may be asked for is
shown by ` + "`sealift definitions show NAME`" + `.

Filters, all of which must hold:
` + ask.FilterHelp + `

In JSON Lines int64 and decimal values are JSON strings, for many programs read JSON numbers with 53 bits only. In XLSX
numbers that a spreadsheet would round are text. A workbook is compressed inside and takes no --compression.
` + guardHelp + `

Without --idempotency-key a random one is used, so that the command's own retries never start a second export. Give one
of your own to make the whole command safe to repeat. A key is remembered for 30 days and for the whole tenant: one that
a colleague has used can't be used for an export of yours.`

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
	flags.StringVar(&w.From, "from", "", "day or business time from which rows are wanted, inclusive")
	flags.StringVar(&w.To, "to", "", "day or business time until which rows are wanted, exclusive; the cutoff when not given")
	flags.StringVar(&w.AsOf, "as-of", "", "cutoff, a day or time; now when not given")
	flags.StringVar(&w.Zone, "zone", "", "zone in which times are written, as in Asia/Shanghai (default UTC)")
	flags.StringSliceVar(&w.Columns, "column", nil, "columns in their order, comma-separated or given several times; all when not given")
	flags.StringArrayVar(&w.Filters, "filter", nil, "filter, as explained above; may be given several times")
	flags.StringVar(&w.Format, "format", "", "csv, jsonl, xlsx or parquet; the definition's first when not given")
	flags.StringVar(&w.Compression, "compression", "", "csv, jsonl: gzip, zstd or none; parquet: zstd, snappy or none; the definition's first that fits when not given")
	flags.StringVar(&w.FileName, "file-name", "", "name of the file that is delivered; an ending such as .csv or .txt becomes that of the format")
	flags.StringVar(&w.Layout, "layout", "", "file for one file, or files for many and a manifest that lists them (default file)")
	flags.StringVar(&w.Delimiter, "delimiter", "", "csv: comma, semicolon, tab or pipe, or the character itself (default comma)")
	flags.StringVar(&w.Quote, "quote", "", `csv: " or ' (default ")`)
	flags.StringVar(&w.LineEnd, "line-end", "", "csv: crlf or lf (default crlf)")
	flags.BoolVar(&c.header, "header", true, "csv: begin with the columns' names")
	flags.BoolVar(&w.BOM, "bom", false, "csv: begin with a byte order mark, for old spreadsheets")
	flags.StringVar(&c.null, "null", "", "csv: unquoted text that stands for NULL (default empty)")
	flags.StringVar(&w.Encoding, "encoding", "", "csv: utf-8 or gb18030 (default utf-8)")
	flags.StringVar(&c.request, "request", "", "file with the request as the API takes it, or - for stdin, instead of the flags above")
	flags.StringVar(&c.key, "idempotency-key", "", "key under which the same request is the same export; one for the whole tenant; random when not given")
	flags.BoolVar(&c.watch, "watch", false, "wait for the end and show the progress")
	flags.StringVar(&c.download, "download", "", "wait for the end and download to this file or folder")
	flags.BoolVar(&c.force, "force", false, "with --download: replace a file that exists")
	flags.BoolVar(&c.dryRun, "dry-run", false, "only ask whether the request would be granted, and as what")
	// Empty text is what stands for NULL when nothing else is said.
	_ = flags.SetAnnotation("null", mayBeEmpty, nil)
	apart(command, "request", "definition", "purpose", "from", "to", "as-of", "zone", "column", "filter", "format", "compression",
		"file-name", "layout", "delimiter", "quote", "line-end", "header", "bom", "null", "encoding")
	apart(command, "dry-run", "watch", "download")
	complete(command, "format", definition.Formats()...)
	complete(command, "compression", "gzip", "zstd", "none", "snappy")
	complete(command, "encoding", "utf-8", "gb18030")
	complete(command, "layout", "file", "files")
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
		return c.inWords(a.validate(ctx, api, request, c))
	}
	to := fetch{output: c.download, flag: "--download", force: c.force}
	if err := a.roomFor(ctx, api, request, to); err != nil {
		return err
	}
	if c.key == "" {
		c.key = a.system.NewID()
	}
	seen, err := api.Create(ctx, request, c.key)
	if err != nil {
		return unsure(c.inWords(err), c.key)
	}
	if a.json {
		if err := a.out.json(compact(seen.Body)); err != nil {
			return err
		}
	} else {
		a.created(seen, c, request)
	}
	if !c.watch && c.download == "" {
		return nil
	}
	export, err := a.watch(ctx, api, seen, seen.Export.State)
	switch {
	case c.download == "":
		return err
	case err != nil && export.State.Terminal():
		return err
	case err != nil:
		return fmt.Errorf("%w\nonce it is completed, fetch its file with `%s`", err, fetchAgain(export.ID, to))
	}
	return a.download(ctx, api, export, to)
}

// fetchAgain are the words that download to the same place.
func fetchAgain(id string, to fetch) string {
	words := "sealift export download " + id + " --output " + shellWord(to.output)
	if to.force {
		words += " --force"
	}
	return words
}

// roomFor refuses a place that can't take the file before the export is asked for. In a folder the file gets the name
// that the service gives it, which a dry run of the same request tells.
func (a *app) roomFor(ctx context.Context, api *client.Client, request []byte, to fetch) error {
	if to.output == "" {
		return nil
	}
	if folder := download.IsFolder(to.output) || os.IsPathSeparator(to.output[len(to.output)-1]); !folder {
		return free(to, "")
	}
	body, err := api.Validate(ctx, request)
	var would granted
	if known := err == nil && json.Unmarshal(body, &would) == nil && would.Snapshot.FileName != ""; known {
		return would.free(to)
	}
	// The request itself is answered with what is wrong with it.
	return nil
}

// inWords says a refusal of the request in the flags that it was given by, and everything that it tells.
func (c create) inWords(err error) error {
	var called *client.Error
	if !errors.As(err, &called) {
		return err
	}
	if len(called.Faults) == 0 {
		called.Detail = c.said(called.Code, called.Field, called.Detail)
		return err
	}
	lines := make([]string, len(called.Faults))
	for i, fault := range called.Faults {
		lines[i] = c.said(fault.Code(), fault.Pointer, fault.Detail)
	}
	called.Detail = strings.Join(lines, "\n")
	return err
}

func (c create) said(code, field, detail string) string {
	switch {
	case code == "idempotency-key-malformed":
		return "--idempotency-key has to be 1 to 255 printable ASCII characters"
	case code == "idempotency-key-reused":
		return "--idempotency-key " + c.key + " was used in your tenant for another request; give a new one, or repeat that request"
	case c.request == "":
		return c.words.Explain(ask.Refusal{Code: code, Field: field, Detail: detail})
	}
	return detail
}

// granted is what a dry run answers.
type granted struct {
	Digest   string            `json:"snapshot_sha256"`
	Snapshot snapshot.Snapshot `json:"snapshot"`
}

// free refuses a place that can't take what would be delivered.
func (g granted) free(to fetch) error {
	if g.Snapshot.Layout != snapshot.LayoutFiles {
		return free(to, g.Snapshot.FileName)
	}
	return freeForNew(to, pipeline.ArtifactName(g.Snapshot))
}

const requestBytesMax = 16 << 20

func (a *app) request(c create) ([]byte, error) {
	if c.request == "" {
		return c.words.Request()
	}
	if c.request != "-" {
		return disk.Read(c.request, requestBytesMax)
	}
	text, err := io.ReadAll(io.LimitReader(a.system.Stdin, requestBytesMax+1))
	if err != nil {
		return nil, disk.Explain("read", "stdin", err)
	}
	if len(text) > requestBytesMax {
		return nil, disk.Explain("read", "stdin", fmt.Errorf("it has more than %d bytes", requestBytesMax))
	}
	return text, nil
}

// unsure says how to go on when it isn't known whether the request arrived.
func unsure(err error, key string) error {
	var refused *client.Unasked
	if errors.As(err, &refused) {
		return fmt.Errorf("%w\nno export was asked for; run the command again", err)
	}
	var called *client.Error
	lost := errors.As(err, &called) && (called.Status == 0 || called.Status >= 500) && called.Code != "connection-refused"
	if lost || interrupted(err) {
		return fmt.Errorf("%w\nthe request may have arrived; repeat it with --idempotency-key %s and there is one export in any case", err, key)
	}
	return err
}

func (a *app) created(seen client.Seen, c create, request []byte) {
	if seen.Replayed {
		a.out.printf("export %s was asked for before under this key and is %s\n", seen.Export.ID, seen.Export.Stands())
	} else {
		a.out.printf("export %s is %s\n", seen.Export.ID, seen.Export.State)
	}
	if said := c.cut(request, seen.Export.Request); said != "" {
		a.err.printf("%s\n", said)
	}
	if !c.watch && c.download == "" {
		a.err.printf("watch it with `sealift export watch %s`\n", seen.Export.ID)
	}
}

func (a *app) validate(ctx context.Context, api *client.Client, request []byte, c create) error {
	body, err := api.Validate(ctx, request)
	if err != nil {
		return err
	}
	if a.json {
		return a.out.json(compact(body))
	}
	var would granted
	if err := json.Unmarshal(body, &would); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	s := would.Snapshot
	first := []string{"file", s.FileName}
	if s.Layout == snapshot.LayoutFiles {
		first = []string{"manifest", pipeline.ArtifactName(s)}
	}
	a.out.printf("the request would be granted\n")
	a.out.table([][]string{
		{"definition", fmt.Sprintf("%s version %d", s.Definition, s.DefinitionVersion)}, {"columns", fmt.Sprint(len(s.Columns))},
		{"from", s.Since}, {"until", s.Until}, first, {"snapshot sha256", would.Digest},
	})
	if said := c.cut(request, s.Request()); said != "" {
		a.err.printf("%s\n", said)
	}
	return nil
}
