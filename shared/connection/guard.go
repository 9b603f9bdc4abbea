package connection

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"sealift/shared/job"
)

// guarded is what may be shown of an opener's error: its kind, its code and its detail, which is in the opener's own words,
// and its cause unless that repeats the connection string or its password. An error that isn't a *job.Error is somebody
// else's text throughout and is left out.
func guarded(connection, dsn string, err error) error {
	var known *job.Error
	if !errors.As(err, &known) {
		return job.Errorf(job.Transient, "connection_failed", "connection %s: the source can't be opened, and the error is left out because it isn't "+
			"known whether it repeats the connection string; look at the source itself", connection)
	}
	shown := *known
	shown.Err = nil
	hidden := hiddenIn(dsn, connection)
	if hidden.plainlyIn(known.Detail) {
		shown.Detail = "connection " + connection + ": the source can't be opened, and the rest of the message is left out because it repeats " +
			"the connection string; the code says what is wrong"
		return &shown
	}
	foreign := strings.Replace(err.Error(), shown.Error(), "", 1)
	if foreign != "" && hidden.anywhereIn(foreign) {
		return &shown
	}
	return err
}

// hidden is what no message may repeat of a connection string.
type hidden struct {
	whole string
	// passwords are as they are written, and what they mean.
	passwords []string
	// public are the parts that a message may name, and the connection; a password may be equal to one.
	public []string
	// unread says that the string can't be taken apart, so that any of its parts may be the password.
	unread bool
}

func hiddenIn(dsn, connection string) hidden {
	h := hidden{whole: dsn}
	parsed, err := url.Parse(dsn)
	if err != nil {
		h.unread = true
		return h
	}
	h.public = []string{connection, parsed.Scheme, parsed.Host, parsed.Path, parsed.Opaque}
	if password, has := parsed.User.Password(); has {
		_, written, _ := strings.Cut(parsed.User.String(), ":")
		h.passwords = append(h.passwords, password, written)
	}
	for pair := range strings.SplitSeq(parsed.RawQuery, "&") {
		name, written, _ := strings.Cut(pair, "=")
		name, _ = url.QueryUnescape(name)
		value, err := url.QueryUnescape(written)
		if err != nil {
			value = written
		}
		if strings.Contains(strings.ToLower(name), "password") {
			h.passwords = append(h.passwords, value, written)
		} else {
			h.public = append(h.public, value)
		}
	}
	return h
}

// anywhereIn reports whether somebody else's text holds a password in any spelling. Of such a text nothing is sure, so a
// password that is a common word counts too.
func (h hidden) anywhereIn(text string) bool {
	if h.unread || strings.Contains(text, h.whole) {
		return true
	}
	spellings := strings.ToLower(text + "\n" + unescaped(text))
	for _, password := range h.passwords {
		quoted := strings.Trim(strconv.Quote(password), `"`)
		for _, spelling := range []string{password, quoted, url.PathEscape(password), url.QueryEscape(password)} {
			if spelling != "" && strings.Contains(spellings, strings.ToLower(spelling)) {
				return true
			}
		}
	}
	return false
}

// unmistakableBytes is how long a password must be to be known in a text that wasn't made of it.
const unmistakableBytes = 6

// plainlyIn reports whether an opener's own words hold the string, or a password that can't be there by chance: words, names
// of databases and numbers can be somebody's password as well, and leaving them out would hide what is wrong and tell it.
func (h hidden) plainlyIn(text string) bool {
	if strings.Contains(text, h.whole) {
		return true
	}
	for _, password := range h.passwords {
		if password == "" || !strings.Contains(text, password) {
			continue
		}
		if strings.Contains(text, ":"+password+"@") || len(password) >= unmistakableBytes && !isWord(password) && !h.isPublic(password) {
			return true
		}
	}
	return false
}

func (h hidden) isPublic(password string) bool {
	for _, part := range h.public {
		if strings.Contains(part, password) {
			return true
		}
	}
	return false
}

// isWord reports whether text is made of ASCII letters, as words are.
func isWord(text string) bool {
	for _, c := range text {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// unescaped is text with what looks percent-encoded decoded, be the rest what it may.
func unescaped(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+3 <= len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(code))
				i += 2
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
