package csv

import "sealift/shared/format/field"

// leads holds the first byte of everything that formula looks for; text that begins with another byte is harmless.
const leads = field.FormulaLeads

// formula reports whether a spreadsheet might run value as a formula.
func formula(value []byte) bool { return field.Formula(value) }
