package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsource/toolsource"
	"github.com/toolsource/toolsource/mcpclient/internal/wire"
)

// Resource is something that a server lets read. Resources share memory and are read-only.
type Resource struct {
	URI         string // never empty
	Name        string
	Title       string
	Description string
	MIMEType    string          // "": not said
	Size        *int64          // in bytes; nil: not said
	Annotations json.RawMessage // as the server sent them; nil: none
	Meta        map[string]any  // its _meta
}

// ResourceTemplate is a pattern of addresses that a server lets read.
type ResourceTemplate struct {
	URITemplate string // RFC 6570; never empty
	Name        string
	Title       string
	Description string
	MIMEType    string // "": not said, or not the same for all
	Annotations json.RawMessage
	Meta        map[string]any
}

// ResourceListing is what a server lists, in its order.
type ResourceListing struct {
	Resources []Resource
	Problems  []error // what is wrong with single entries, which are left out
	Truncated bool    // a cap cut it: MaxTools and MaxPages count here too
}

// TemplateListing likewise.
type TemplateListing struct {
	Templates []ResourceTemplate
	Problems  []error
	Truncated bool
}

// Resources lists the server's resources, all pages. It connects if there is no session. A server that declares
// no resources is not asked: the error matches toolsource.ErrUnavailable. Errors are *toolsource.CallError.
func (s *Server) Resources(ctx context.Context, o CallOptions) (ResourceListing, error) {
	const method = "resources/list"
	all, err := reading(ctx, s, method, o, lacksResources, func(ctx context.Context, sess *session) (items[Resource], error) {
		return listItems(ctx, sess, method, "resources", func(ctx context.Context, cursor string) (any, error) {
			return sess.cs.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		}, readResourceEntry)
	})
	return ResourceListing{all.list, all.problems, all.truncated}, err
}

func readResourceEntry(m members, f *fields) (Resource, string) {
	r := Resource{URI: f.need(m, "uri"), Name: f.text(m, "name"), Title: f.text(m, "title"), Description: f.text(m, "description"),
		MIMEType: f.mimeType(m, ""), Size: f.size(m), Annotations: f.object(m, "annotations"), Meta: f.meta(m)}
	if f.err == nil && r.URI == "" {
		f.fail("has an empty uri")
	}
	return r, r.URI
}

// ResourceTemplates lists the server's patterns of addresses, as Resources does.
func (s *Server) ResourceTemplates(ctx context.Context, o CallOptions) (TemplateListing, error) {
	const method = "resources/templates/list"
	all, err := reading(ctx, s, method, o, lacksResources, func(ctx context.Context, sess *session) (items[ResourceTemplate], error) {
		return listItems(ctx, sess, method, "resourceTemplates", func(ctx context.Context, cursor string) (any, error) {
			return sess.cs.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		}, readTemplateEntry)
	})
	return TemplateListing{all.list, all.problems, all.truncated}, err
}

func readTemplateEntry(m members, f *fields) (ResourceTemplate, string) {
	r := ResourceTemplate{URITemplate: f.need(m, "uriTemplate"), Name: f.text(m, "name"), Title: f.text(m, "title"),
		Description: f.text(m, "description"), MIMEType: f.mimeType(m, ""), Annotations: f.object(m, "annotations"), Meta: f.meta(m)}
	if f.err == nil && r.URITemplate == "" {
		f.fail("has an empty uriTemplate")
	}
	return r, r.URITemplate
}

// ReadResource reads a resource under its address, which need not be listed. Content has a block for each part;
// Value is the text of the only part, the Blob of the only part, or a list with an entry for each.
//
// Of the options Tool, Source and Limits count, here and in all that reads.
func (s *Server) ReadResource(ctx context.Context, uri string, o CallOptions) (toolsource.Result, error) {
	const method = "resources/read"
	meta, err := s.readMeta(ctx, &o, method)
	if err != nil {
		return toolsource.Result{}, err
	}
	if strings.TrimSpace(uri) == "" {
		return toolsource.Result{}, s.named(o, bindError(fmt.Errorf("%w: the uri is empty", toolsource.ErrBadArguments)))
	}
	d, err := reading(ctx, s, method, o, lacksResources, func(ctx context.Context, sess *session) (decoded, error) {
		raw, err := sess.read(ctx, method, func(ctx context.Context) (any, error) {
			return sess.cs.ReadResource(ctx, &mcp.ReadResourceParams{Meta: sess.meta(meta), URI: uri})
		})
		if err != nil {
			return decoded{}, err
		}
		d, err := decodeContents(raw)
		if err != nil {
			return decoded{}, sess.malformed(method, err)
		}
		return d, nil
	})
	if err != nil {
		return toolsource.Result{}, err
	}
	s.odd(o.Tool, d.notes)
	return d.result, nil
}

// readMeta is what the host adds to _meta, and names the request.
func (s *Server) readMeta(ctx context.Context, o *CallOptions, method string) (mcp.Meta, error) {
	if o.Tool == "" {
		o.Tool = method
	}
	if o.Source == "" {
		o.Source = sourceName(s.id)
	}
	meta, err := callMeta(ctx)
	if err != nil {
		return nil, s.named(*o, bindError(err))
	}
	return meta, nil
}

func (s *Server) odd(what string, notes []string) {
	if len(notes) > 0 {
		s.log.Warn("odd result", "tool", what, "notes", s.redact.text(strings.Join(notes, "; ")))
	}
}

// decodeContents reads the raw result of a resources/read. One odd part costs only itself.
func decodeContents(raw []byte) (d decoded, err error) {
	m, err := resultObject(raw)
	if err != nil {
		return d, err
	}
	list := m.get("contents")
	if list.kind() != '[' {
		return d, errors.New("has no list of contents")
	}
	d.readMeta(m.get("_meta"))
	d.result.Content = []toolsource.Content{}
	var values []any
	list.elements(func(t jsonText) {
		c := toolsource.Content{Type: toolsource.ContentResource}
		var f fields
		v := resourceContents(&c, t, &f)
		if f.err != nil {
			d.note("part %d %v; kept raw", len(values)+1, f.err)
			c = toolsource.Content{Type: toolsource.ContentResource, URI: c.URI, MIMEType: c.MIMEType, Raw: []byte(t)}
			v = t.value()
		}
		d.result.Content = append(d.result.Content, c)
		values = append(values, v)
	})
	switch only := d.result.Content; {
	case len(values) == 0:
	case len(values) > 1:
		d.result.Value = values
	case only[0].Raw == nil && only[0].Data == nil:
		d.result.Value = only[0].Text
	default:
		d.result.Value = values[0]
	}
	return d, nil
}

// Subscribe has updated called after each change of a resource, or of one below it, that the server tells of, with its
// address, until stop. Where a change may have gone unheard, as between two sessions, it is called too. Calls come one after another
// on a goroutine of the server, which they must not hold, and several changes may be told as one; one that is
// under way when stop is called may still end after it. The subscription outlives the session. A server that
// does not declare subscriptions is not asked: the error matches toolsource.ErrUnavailable.
func (s *Server) Subscribe(ctx context.Context, uri string, updated func(uri string)) (stop func(), err error) {
	const method = "resources/subscribe"
	o := CallOptions{Tool: method, Source: sourceName(s.id)}
	if strings.TrimSpace(uri) == "" {
		return nil, s.named(o, bindError(fmt.Errorf("%w: the uri is empty", toolsource.ErrBadArguments)))
	}
	stop = s.listenTo(uri, updated) // first, so that no session comes between
	_, err = reading(ctx, s, method, o, func(c *mcp.ServerCapabilities) string {
		if c.Resources == nil || !c.Resources.Subscribe {
			return "subscriptions to resources"
		}
		return ""
	}, func(ctx context.Context, sess *session) (struct{}, error) {
		return struct{}{}, sess.subscribe(ctx, uri)
	})
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// subscribe asks for the changes of a resource. Any answer but a refusal will do.
func (s *session) subscribe(ctx context.Context, uri string) error {
	err := s.cs.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
	if err == nil {
		return nil
	}
	return readError(s.answered(ctx, err))
}

// listenTo keeps a function to be told of changes.
func (s *Server) listenTo(uri string, updated func(string)) (stop func()) {
	a := s.audience()
	u := &updateListener{updated}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.subs == nil {
		a.subs = map[string][]*updateListener{}
	}
	a.subs[uri] = append(a.subs[uri][:len(a.subs[uri]):len(a.subs[uri])], u)
	return func() {
		a.mu.Lock()
		kept := make([]*updateListener, 0, len(a.subs[uri]))
		was := len(a.subs[uri])
		for _, o := range a.subs[uri] {
			if o != u {
				kept = append(kept, o)
			}
		}
		a.subs[uri] = kept
		if len(kept) == 0 {
			delete(a.subs, uri)
		}
		a.mu.Unlock()
		if was > 0 && len(kept) == 0 {
			s.unsubscribe(uri)
		}
	}
}

// unsubscribe tells the server, behind the caller's back.
func (s *Server) unsubscribe(uri string) {
	sess := s.live()
	if sess == nil {
		return
	}
	s.spawn(func() {
		ctx, cancel := sess.lasting(notifyTime)
		defer cancel()
		if err := sess.cs.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
			s.log.Debug("the server did not take the subscription back", "err", s.redact.err(err))
		}
	})
}

// subscribed are the addresses that somebody listens to.
func (s *Server) subscribed() (uris []string) {
	a := s.heard()
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for uri := range a.subs {
		uris = append(uris, uri)
	}
	return uris
}

// tellUpdated posts a change of a resource; "" is any.
func (s *Server) tellUpdated(uri string) {
	a := s.heard()
	if a == nil {
		return
	}
	a.mu.Lock()
	hear := map[string]bool{}
	for sub := range a.subs {
		if uri == "" || sub == uri || strings.HasPrefix(uri, strings.TrimSuffix(sub, "/")+"/") {
			hear[sub] = true
		}
	}
	a.mu.Unlock()
	for sub := range hear {
		if uri != "" && a.post("updated "+sub+" "+uri, func() { a.tellSub(sub, uri) }) {
			continue
		}
		a.must("updated "+sub, func() { a.tellSub(sub, sub) }) // something below it changed
	}
}

func (a *audience) tellSub(sub, uri string) {
	a.mu.Lock()
	listeners := a.subs[sub]
	a.mu.Unlock()
	for _, l := range listeners {
		a.tell(note{tell: func() { l.updated(uri) }})
	}
}

// WatchResources has changed called after each change of what Resources would return that the server tells of, and
// after each new session, until stop, as Watch does for tools.
func (s *Server) WatchResources(changed func()) (stop func()) {
	return s.audience().watch(topicResources, changed)
}

// tellAll posts a change of a list.
func (s *Server) tellAll(topic int) {
	a := s.heard()
	if a == nil {
		return
	}
	a.mu.Lock()
	some := len(a.topics[topic]) > 0
	a.mu.Unlock()
	if !some {
		return
	}
	a.must(fmt.Sprint("topic ", topic), func() {
		a.mu.Lock()
		listeners := a.topics[topic]
		a.mu.Unlock()
		for _, l := range listeners {
			a.tell(note{tell: l.changed})
		}
	})
}

func (a *audience) watch(topic int, changed func()) (stop func()) {
	l := &listener{changed}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.topics[topic] = append(a.topics[topic][:len(a.topics[topic]):len(a.topics[topic])], l)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		var kept []*listener
		for _, o := range a.topics[topic] {
			if o != l {
				kept = append(kept, o)
			}
		}
		a.topics[topic] = kept
	}
}

// answered is the error of a request that went through the SDK.
func (s *session) answered(ctx context.Context, err error) error {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code != codeRejected && rpc.Code != codeClosing && rpc.Code != codeServerClosing {
		return s.srv.rpcError(&wire.RPCError{Code: rpc.Code, Message: rpc.Message, Data: rpc.Data})
	}
	return s.failure(ctx, &wire.Slot{}, err)
}
