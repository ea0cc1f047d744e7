package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolsource/toolsource"
)

// decoded is the answer to a tools/call.
type decoded struct {
	result  toolsource.Result
	isError bool
	gone    bool     // it was not called, since the server does not list it any more
	twice   bool     // it was not sent, since it had been sent twice
	notes   []string // what was odd and was put right or kept raw; none of it is fatal
}

func (d *decoded) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// decodeResult reads the raw result of a tools/call. With unwrap, structured content of the form
// {"result": x} has the value x. One odd block costs only itself; an error means that the whole is no
// result. This is the only place that reads results.
func decodeResult(raw []byte, unwrap bool) (decoded, error) {
	var d decoded
	t, err := parseJSON(raw)
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return d, errors.New("the result of the call is empty, want an object")
	case err != nil:
		return d, fmt.Errorf("the result of the call does not parse: %w", err)
	case t.kind() != '{':
		return d, fmt.Errorf("the result of the call is %s, want an object", clip(t))
	}
	var room [8]member
	d.readMembers(t.members(room[:0]), unwrap)
	return d, nil
}

func (d *decoded) readMembers(m members, unwrap bool) {
	content, structured := m.get("content"), m.get("structuredContent")
	if legacy := m.get("toolResult"); legacy != "" && !content.present() && !structured.present() {
		d.readLegacy(m, legacy, unwrap)
		return
	}
	d.isError = d.readFlag(m.get("isError"))
	d.readMeta(m.get("_meta"))
	values := d.readContent(content)
	if structured.present() {
		d.result.Value = structured.value()
		if in, ok := d.result.Value.(map[string]any); ok && unwrap && len(in) == 1 {
			if x, ok := in["result"]; ok {
				d.result.Value = x
			}
		}
		return
	}
	d.result.Value = contentValue(d.result.Content, values)
}

// readLegacy reads the form of the first protocol revisions: the result stands in a member of its own.
func (d *decoded) readLegacy(m members, legacy jsonText, unwrap bool) {
	d.note("the result has the old form toolResult")
	if in := legacy.members(nil); in.get("content").present() || in.get("structuredContent").present() {
		for _, k := range []string{"isError", "_meta"} {
			if v := m.get(k); in.get(k) == "" && v != "" {
				in = append(in, member{k, v})
			}
		}
		d.readMembers(in, unwrap)
		return
	}
	d.isError = d.readFlag(m.get("isError"))
	d.readMeta(m.get("_meta"))
	if legacy.present() {
		d.result.Value = legacy.value()
	}
}

// readFlag reads isError. Whatever is neither true nor false counts as an error, so that no failure passes
// for a success.
func (d *decoded) readFlag(t jsonText) bool {
	switch t {
	case "", "null", "false":
		return false
	case "true":
		return true
	}
	d.note("isError is %s, which is no boolean; taken as an error", clip(t))
	return true
}

func (d *decoded) readMeta(t jsonText) {
	if !t.present() {
		return
	}
	if m, ok := t.value().(map[string]any); ok {
		d.result.Meta = m
		return
	}
	d.note("_meta is no object")
}

// readContent reads the blocks, and the value of each.
func (d *decoded) readContent(t jsonText) (values []any) {
	if !t.present() {
		return nil
	}
	if t.kind() != '[' {
		d.note("content is no list; taken as one block")
		return d.readOne(t, nil)
	}
	values = []any{}
	d.result.Content = []toolsource.Content{}
	t.elements(func(b jsonText) { values = d.readOne(b, values) })
	return values
}

func (d *decoded) readOne(b jsonText, values []any) []any {
	c, v, err := readBlock(b)
	if err != nil {
		d.note("content block %d %v; kept raw", len(values)+1, err)
		c = toolsource.Content{Type: c.Type, MIMEType: c.MIMEType, Raw: []byte(b)}
		v = b.value()
	}
	d.result.Content = append(d.result.Content, c)
	return append(values, v)
}

// contentValue is what a program sees of blocks: of one text its string, of several a list of strings, of
// any others the blocks' values in order, of none nil.
func contentValue(content []toolsource.Content, values []any) any {
	switch {
	case len(content) == 0:
		return nil
	case len(content) == 1 && content[0].Type == toolsource.ContentText && content[0].Raw == nil:
		return values[0]
	}
	return values
}

const octetStream = "application/octet-stream"

// readBlock reads one block, and the value of it: a string, a Blob or a map. With an error, the block has
// only what could be read.
func readBlock(t jsonText) (c toolsource.Content, v any, err error) {
	if err := wantObject(t); err != nil {
		return c, nil, err
	}
	var room [8]member
	m := t.members(room[:0])
	var f fields
	c.Type = toolsource.ContentType(f.text(m, "type"))
	c.Annotations = f.object(m, "annotations")
	c.Meta = f.meta(m)
	switch c.Type {
	case toolsource.ContentText:
		c.Text = f.need(m, "text")
		v = c.Text
	case toolsource.ContentImage, toolsource.ContentAudio:
		c.MIMEType = f.mimeType(m, octetStream)
		c.Data = f.bytes(m, "data")
		v = toolsource.Blob{MIMEType: c.MIMEType, Data: c.Data}
	case toolsource.ContentResource:
		v = readResource(&c, m, &f)
	case toolsource.ContentResourceLink:
		c.URI = f.need(m, "uri")
		c.Name, c.Title, c.Description = f.text(m, "name"), f.text(m, "title"), f.text(m, "description")
		c.MIMEType = f.mimeType(m, "")
		c.Size = f.size(m)
		v = t.value()
	case "":
		f.fail("has no type")
	default:
		f.fail("has the unknown type %q", clip(jsonText(c.Type)))
	}
	return c, v, f.err
}

func readResource(c *toolsource.Content, m members, f *fields) any {
	return resourceContents(c, m.get("resource"), f)
}

// resourceContents reads the text or the bytes of a resource, and the value of it.
func resourceContents(c *toolsource.Content, t jsonText, f *fields) any {
	if err := wantObject(t); err != nil {
		f.fail("has a resource that %v", err)
		return nil
	}
	var room [8]member
	r := t.members(room[:0])
	c.URI = f.text(r, "uri")
	if meta := f.meta(r); c.Meta == nil {
		c.Meta = meta
	}
	if r.get("blob").present() {
		c.MIMEType = f.mimeType(r, octetStream)
		c.Data = f.bytes(r, "blob")
		return toolsource.Blob{MIMEType: c.MIMEType, URI: c.URI, Data: c.Data}
	}
	c.MIMEType = f.mimeType(r, "")
	c.Text = f.need(r, "text")
	v := map[string]any{"type": string(c.Type), "uri": c.URI, "text": c.Text}
	if c.MIMEType != "" {
		v["mimeType"] = c.MIMEType
	}
	return v
}

// fields reads members of an object and keeps the first complaint.
type fields struct{ err error }

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

// text is a string member, "" if it is absent or null.
func (f *fields) text(m members, key string) string {
	t := m.get(key)
	if !t.present() {
		return ""
	}
	s, ok := t.str()
	if !ok {
		f.fail("has a member %s that is no string", key)
	}
	return s
}

// need is a string member that has to be there.
func (f *fields) need(m members, key string) string {
	if !m.get(key).present() {
		f.fail("has no %s", key)
	}
	return f.text(m, key)
}

func (f *fields) mimeType(m members, absent string) string {
	if t := f.text(m, "mimeType"); t != "" {
		return t
	}
	return absent
}

func (f *fields) object(m members, key string) json.RawMessage {
	t := m.get(key)
	if !t.present() {
		return nil
	}
	if t.kind() != '{' {
		f.fail("has a member %s that is no object", key)
		return nil
	}
	return json.RawMessage(t)
}

func (f *fields) meta(m members) map[string]any {
	t := m.get("_meta")
	if !t.present() {
		return nil
	}
	v, ok := t.value().(map[string]any)
	if !ok {
		f.fail("has a member _meta that is no object")
	}
	return v
}

func (f *fields) size(m members) *int64 {
	t := m.get("size")
	if !t.present() {
		return nil
	}
	n, err := strconv.ParseInt(string(t), 10, 64)
	if err != nil {
		f.fail("has a size that is no integer")
		return nil
	}
	return &n
}

// bytes reads base64, padded or not, in either alphabet. It is never nil where there is no error.
func (f *fields) bytes(m members, key string) []byte {
	s := f.need(m, key)
	if f.err != nil {
		return nil
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(s); err == nil {
			return b
		}
	}
	f.fail("has %s that is not base64", key)
	return nil
}

// wantObject says what is there instead of an object; nil: an object.
func wantObject(t jsonText) error {
	switch t.kind() {
	case '{':
		return nil
	case 0:
		return errors.New("is empty, want an object")
	}
	return fmt.Errorf("is %s, want an object", clip(t))
}

// exact reads any JSON into the types of a Result's Value. What does not parse is nil.
func exact(raw []byte) any {
	t, err := parseJSON(raw)
	if err != nil {
		return nil
	}
	return t.value()
}

// exactNumber is an int64 where the number is an integer that fits, a json.Number for one that does not,
// else a float64. One with a fraction or an exponent counts as an integer where it is one that float64 cannot
// hold.
func exactNumber(n json.Number) any {
	s := n.String()
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	if !strings.ContainsAny(s, ".eE") {
		return n
	}
	if len(s) <= exactDigits {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	}
	return toolsource.Value(n).Value
}

// exactDigits is how many digits float64 keeps of any number.
const exactDigits = 15

// clip shortens a server's text for a message.
func clip(t jsonText) string {
	const most = 60
	if len(t) <= most {
		return strings.ToValidUTF8(string(t), "")
	}
	return strings.ToValidUTF8(string(t[:most]), "") + "..."
}
