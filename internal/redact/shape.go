package redact

import (
	"slices"
	"strings"
)

// Shaped is a text with *** for what looks like a credential, whoever it belongs to: tokens of GitHub, OpenAI,
// Slack and AWS, JSON web tokens, what follows Bearer, the value of a name such as token, api_key or password
// after = or : and in JSON, the value of an Authorization header, and the user name and password of a URL.
// What stands around it stays, so that a text can still be read.
func Shaped(text string) string {
	var found []span
	for i := 0; i < len(text); i++ {
		if from, to := shapeAt(text, i); to > from {
			found = append(found, span{from, to, mask})
			i = to - 1
		}
	}
	return replace(text, found, 0)
}

// Clean is Shaped of Text.
func (s *Set) Clean(text string) string { return Shaped(s.Text(text)) }

// shapeAt finds what looks like a credential because of what stands at i. It may begin behind i.
func shapeAt(text string, i int) (from, to int) {
	switch c := text[i]; {
	case c == ':' && strings.HasPrefix(text[i:], "://"):
		return userinfo(text, i+3)
	case c == ':' || c == '=':
		return named(text, i)
	case !isLetter(c) || i > 0 && isWord(text[i-1]):
		return 0, 0
	case c == 'B' || c == 'b':
		return bearer(text, i)
	case i > 0 && (text[i-1] == '-' || text[i-1] == '.'): // in the middle of what could be one, which is looked at once
		return 0, 0
	case c == 'e':
		return webToken(text, i)
	case c == 'A':
		return awsKey(text, i)
	}
	return issued(text, i)
}

// issuers are how tokens begin, and how many characters follow at least.
var issuers = []struct {
	prefix string
	least  int
	digits bool // there is a digit among them, as words begin so too
}{
	{"ghp_", 6, false}, {"gho_", 6, false}, {"ghu_", 6, false}, {"ghs_", 6, false}, {"ghr_", 6, false},
	{"github_pat_", 6, false}, {"sk-", 8, true},
	{"xoxa-", 6, false}, {"xoxb-", 6, false}, {"xoxe-", 6, false}, {"xoxo-", 6, false},
	{"xoxp-", 6, false}, {"xoxr-", 6, false}, {"xoxs-", 6, false}, {"xoxd-", 6, false}, {"xoxc-", 6, false},
}

func issued(text string, i int) (from, to int) {
	for _, k := range issuers {
		if len(text)-i < len(k.prefix) || !strings.EqualFold(text[i:i+len(k.prefix)], k.prefix) {
			continue
		}
		body := text[i+len(k.prefix):]
		n := run(body, func(c byte) bool { return isWord(c) || c == '-' || c == '.' })
		body = strings.TrimRight(body[:n], ".-")
		if len(body) >= k.least && (!k.digits || strings.ContainsAny(body, "0123456789")) {
			return i, i + len(k.prefix) + len(body)
		}
	}
	return 0, 0
}

// plain are words that follow Bearer in sentences.
var plain = []string{"token", "tokens", "auth", "authentication", "authorization", "scheme", "realm", "header", "credentials", "is", "was", "not", "required"}

func bearer(text string, i int) (from, to int) {
	const word = "bearer"
	if len(text)-i <= len(word) || !strings.EqualFold(text[i:i+len(word)], word) {
		return 0, 0
	}
	from = i + len(word)
	blanks := run(text[from:], isBlank)
	from += blanks
	to = from + run(text[from:], func(c byte) bool { return isWord(c) || strings.IndexByte("-._~+/", c) >= 0 })
	token := text[from:to]
	to += run(text[to:], func(c byte) bool { return c == '=' })
	switch {
	case blanks == 0 || token == "" || slices.Contains(plain, strings.ToLower(strings.TrimRight(token, "."))):
		return 0, 0
	case to > from+len(token) && to < len(text) && (isWord(text[to]) || text[to] == '"'): // a challenge, as realm="x"
		return 0, 0
	}
	return from, to
}

func webToken(text string, i int) (from, to int) {
	if !strings.HasPrefix(text[i:], "eyJ") {
		return 0, 0
	}
	part := func(c byte) bool { return isWord(c) || c == '-' }
	to = i
	for n := range 3 {
		k := run(text[to:], part)
		if k == 0 && n < 2 {
			return 0, 0
		}
		to += k
		if n < 2 {
			if to == len(text) || text[to] != '.' {
				return 0, 0
			}
			to++
		}
	}
	return i, to
}

func awsKey(text string, i int) (from, to int) {
	const length = 20
	if len(text)-i >= length && (strings.HasPrefix(text[i:], "AKIA") || strings.HasPrefix(text[i:], "ASIA")) {
		n := run(text[i:], func(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' })
		if n == length && (i+n == len(text) || !isWord(text[i+n])) {
			return i, i + n
		}
	}
	return 0, 0
}

// userinfo finds what stands before the @ of an address.
func userinfo(text string, i int) (from, to int) {
	n := run(text[i:], func(c byte) bool { return c > ' ' && strings.IndexByte(`/?#"'<>\`, c) < 0 })
	return i, i + max(0, strings.LastIndexByte(text[i:i+n], '@'))
}

// named finds the value of a name such as token: what stands at i is the = or : between them.
func named(text string, i int) (from, to int) {
	name, quoted := nameBefore(text, i)
	if name == "" || strings.HasPrefix(text[i+1:], "=") {
		return 0, 0
	}
	kind := kindOf(name)
	sure := kind == certain || kind == header
	switch {
	case kind == harmless, text[i] == ':' && !sure && !(quoted && kind == token):
		return 0, 0
	}
	from = i + 1
	from += run(text[from:], isBlank)
	if n := quote(text[from:]); n > 0 {
		escaped := n > 1
		from += n
		return from, from + closing(text[from:], text[from-1], escaped)
	}
	if quoted { // a number, or another value of JSON that is no text
		return 0, 0
	}
	to = from + run(text[from:], isValue)
	if kind == header && isScheme(text[from:to]) && to < len(text) && text[to] == ' ' {
		to++
		to += run(text[to:], isValue)
	}
	return from, to
}

// nameBefore is the name that ends before i, and whether it stands in quotes.
func nameBefore(text string, i int) (name string, quoted bool) {
	const longest = 64
	end := i
	for end > 0 && end > i-3 && isBlank(text[end-1]) {
		end--
	}
	if end > 0 && (text[end-1] == '"' || text[end-1] == '\'') {
		quoted = true
		end--
		if end > 0 && text[end-1] == '\\' {
			end--
		}
	}
	begin := end
	for begin > 0 && end-begin < longest && (isWord(text[begin-1]) || text[begin-1] == '-') {
		begin--
	}
	return text[begin:end], quoted
}

type kind int

const (
	harmless kind = iota
	key           // it ends in key: a credential after =
	token         // it is the word token: a credential after =, and in JSON
	certain       // a credential in any case
	header        // its value may have two words
)

var surely = []string{
	"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "secretkey", "privatekey",
	"accesstoken", "refreshtoken", "authtoken", "idtoken", "sessiontoken", "apitoken",
}

var joined = strings.NewReplacer("_", "", "-", "")

// kindOf says what a name stands for.
func kindOf(name string) kind {
	bare := strings.ToLower(joined.Replace(name))
	switch {
	case strings.HasSuffix(bare, "authorization"):
		return header
	case slices.ContainsFunc(surely, func(end string) bool { return strings.HasSuffix(bare, end) }):
		return certain
	case endsInWord(name, "token"):
		if len(name) > len("token") {
			return certain
		}
		return token
	case endsInWord(name, "key"):
		return key
	}
	return harmless
}

// endsInWord reports whether the last word of a name is this one: monkey does not end in key.
func endsInWord(name, word string) bool {
	n := len(name) - len(word)
	if n < 0 || !strings.EqualFold(name[n:], word) {
		return false
	}
	return n == 0 || !isLetter(name[n-1]) || name[n] < 'a' && name[n-1] >= 'a'
}

// quote is the length of an opening quote, which may itself be escaped; 0: there is none.
func quote(text string) int {
	switch {
	case strings.HasPrefix(text, `"`), strings.HasPrefix(text, `'`):
		return 1
	case strings.HasPrefix(text, `\"`):
		return 2
	}
	return 0
}

// closing is where a quoted text ends, or the whole is cut.
func closing(text string, mark byte, escaped bool) int {
	for i := 0; i < len(text); i++ {
		switch {
		case escaped && text[i] == '\\' && i+1 < len(text) && text[i+1] == mark:
			return i
		case !escaped && text[i] == '\\':
			i++
		case text[i] == mark:
			return i
		}
	}
	return len(text)
}

func isScheme(word string) bool {
	switch strings.ToLower(word) {
	case "bearer", "basic", "digest", "token", "negotiate", "apikey":
		return true
	}
	return false
}

func isValue(c byte) bool {
	return c > ' ' && strings.IndexByte("&,;\"'", c) < 0
}

func run(text string, is func(byte) bool) (n int) {
	for n < len(text) && is(text[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isWord(c byte) bool   { return isLetter(c) || c >= '0' && c <= '9' || c == '_' }
