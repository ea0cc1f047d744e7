package wire

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/toolsource/toolsource"
)

// sharedHeaders are those of the last POST, for the next one that needs the same. Nobody writes to them.
type sharedHeaders struct {
	extra            http.Header // what the host wanted
	session, version string
	h                http.Header
}

func (s *sharedHeaders) fit(extra http.Header, session, version string) bool {
	return s != nil && s.session == session && s.version == version && maps.EqualFunc(s.extra, extra, slices.Equal[[]string])
}

// headers are what the host wants, and then what the protocol does.
func (b *httpBase) headers(ctx context.Context, o order) (http.Header, error) {
	var extra http.Header
	if b.cfg.Headers != nil {
		var err error
		if extra, err = b.cfg.Headers(ctx); err != nil {
			return nil, err
		}
	}
	var token string
	if b.cfg.OAuth != nil {
		var err error
		if token, err = b.authorization(ctx, o); err != nil {
			return nil, err
		}
	}
	b.smu.Lock()
	session, version, last := b.sessionID, b.version, b.shared
	b.smu.Unlock()
	// A host's own transport and authorization get headers of their own: they may write to them.
	shareable := b.own != nil && b.cfg.OAuth == nil && o.text[0] != nil
	if shareable && last.fit(extra, session, version) {
		if o.mirror.revision == "" {
			return last.h, nil
		}
		h := make(http.Header, len(last.h)+3)
		maps.Copy(h, last.h)
		o.mirror.set(h)
		return h, nil
	}
	h := make(http.Header, len(extra)+8)
	for k, v := range extra {
		h[http.CanonicalHeaderKey(k)] = slices.Clone(v)
	}
	b.setProtocol(h, o, token)
	if session != "" {
		h[headerSession] = []string{session}
	}
	if version != "" {
		h[headerVersion] = []string{version}
	}
	if !shareable {
		o.mirror.set(h)
		return h, nil
	}
	kept := make(http.Header, len(extra))
	for k, v := range extra {
		kept[k] = slices.Clone(v)
	}
	b.smu.Lock()
	b.shared = &sharedHeaders{kept, session, version, h}
	b.smu.Unlock()
	if o.mirror.revision != "" {
		h = maps.Clone(h)
		o.mirror.set(h)
	}
	return h, nil
}

func (b *httpBase) setProtocol(h http.Header, o order, token string) {
	if u := b.url.User; u != nil && h.Get("Authorization") == "" {
		password, _ := u.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if token != "" {
		h["Authorization"] = []string{token}
	}
	if o.text[0] != nil {
		h["Content-Type"] = contentJSON
	}
	if o.accept != nil {
		h["Accept"] = o.accept
	}
	if b.own != nil {
		h["Accept-Encoding"] = acceptGzip
	}
	if o.lastID != "" {
		h[headerEventID] = []string{o.lastID}
	}
}

// authorization asks for a token, on a goroutine of its own, since a token source knows no context. For the
// last request of all the last one has to do.
func (b *httpBase) authorization(ctx context.Context, o order) (string, error) {
	if o.method == http.MethodDelete {
		b.smu.Lock()
		defer b.smu.Unlock()
		return b.token, nil
	}
	type answer struct {
		kind, token string
		err         error
	}
	got := make(chan answer, 1)
	started := b.spawn(func() {
		ts, err := b.cfg.OAuth.TokenSource(ctx)
		if err != nil || ts == nil {
			got <- answer{err: err}
			return
		}
		t, err := ts.Token()
		if err != nil {
			got <- answer{err: err}
			return
		}
		got <- answer{t.Type(), t.AccessToken, nil}
	})
	if !started {
		return "", errClosed
	}
	select {
	case a := <-got:
		if a.err != nil {
			return "", fmt.Errorf("%w: %w", toolsource.ErrNeedsAuth, a.err)
		}
		if a.token == "" {
			return "", nil
		}
		auth := a.kind + " " + a.token
		b.smu.Lock()
		b.token = auth
		b.smu.Unlock()
		return auth, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-b.ctx.Done():
		return "", errClosed
	}
}

// decompress does what net/http would: it does so only for a header of its own, which costs a map for each
// request.
func decompress(resp *http.Response) {
	if resp.Header.Get("Content-Encoding") != "gzip" {
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = &unzipper{ReadCloser: resp.Body}
}

type unzipper struct {
	io.ReadCloser
	z   *gzip.Reader // nil: nothing was read yet
	err error        // it is no gzip
}

func (u *unzipper) Read(p []byte) (int, error) {
	if u.z == nil && u.err == nil {
		u.z, u.err = gzip.NewReader(u.ReadCloser)
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.z.Read(p)
}
