package xlsx

import (
	"fmt"
	"strings"
)

const (
	relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packageRels   = "http://schemas.openxmlformats.org/package/2006/relationships"
	mediaType     = "application/vnd.openxmlformats-officedocument.spreadsheetml."

	// ContentType is the media type of a workbook.
	ContentType = mediaType + "sheet"
)

// contentTypesXML is [Content_Types].xml. It comes before the sheets are known: whatever isn't named is a worksheet.
const contentTypesXML = xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
	`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
	`<Default Extension="xml" ContentType="` + mediaType + `worksheet+xml"/>` +
	`<Override PartName="/xl/workbook.xml" ContentType="` + mediaType + `sheet.main+xml"/>` +
	`<Override PartName="/xl/styles.xml" ContentType="` + mediaType + `styles+xml"/></Types>`

// rootXML is _rels/.rels.
const rootXML = xmlHead + `<Relationships xmlns="` + packageRels + `">` +
	`<Relationship Id="rId1" Type="` + relationships + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`

// prefix is what a file begins with, and the entries of it.
func (c Config) prefix() ([]byte, []entry) {
	var dst []byte
	var entries []entry
	b := c.Bounds.orReal()
	dst, entries = b.appendStored(dst, entries, 0, "[Content_Types].xml", contentTypesXML)
	dst, entries = b.appendStored(dst, entries, 0, "_rels/.rels", rootXML)
	return b.appendStored(dst, entries, 0, "xl/styles.xml", c.stylesXML())
}

// suffix is what ends a file of these worksheets whose last byte before it is at at-1. A workbook needs a worksheet, so
// without any there is one that has nothing but its header.
func (c Config) suffix(sheets []entry, at int64) []byte {
	_, entries := c.prefix()
	var dst []byte
	b := c.Bounds.orReal()
	if len(sheets) == 0 {
		empty := sheetEntry(0, 1).name
		dst, sheets = b.appendStored(nil, nil, at, empty, string(newEncoder(c).sheetStart())+sheetEnd)
	}
	entries = append(entries, sheets...)
	var list, rels strings.Builder
	for i, sheet := range sheets {
		fmt.Fprintf(&list, `<sheet name="Sheet%d" sheetId="%d" r:id="rId%d"/>`, i+1, i+1, i+1)
		fmt.Fprintf(&rels, `<Relationship Id="rId%d" Type="%s/worksheet" Target="%s"/>`, i+1, relationships,
			strings.TrimPrefix(sheet.name, "xl/"))
	}
	fmt.Fprintf(&rels, `<Relationship Id="rId%d" Type="%s/styles" Target="styles.xml"/>`, len(sheets)+1, relationships)
	dst, entries = b.appendStored(dst, entries, at, "xl/workbook.xml", xmlHead+`<workbook xmlns="`+mainNamespace+`" xmlns:r="`+relationships+
		`"><bookViews><workbookView/></bookViews><sheets>`+list.String()+`</sheets></workbook>`)
	dst, entries = b.appendStored(dst, entries, at, "xl/_rels/workbook.xml.rels", xmlHead+`<Relationships xmlns="`+packageRels+`">`+
		rels.String()+`</Relationships>`)
	return appendDirectory(dst, entries, at, b)
}
