package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/toolsource/toolsource"
)

func checkWatch(ctx context.Context, s *subject) error {
	if !has[toolsource.Watcher](s.src) {
		return absent("it is no Watcher: a Toolbox lists it again only on Refresh")
	}
	var after atomic.Bool
	var late atomic.Int32
	if err := ends("Watch and its stop, called twice,", soon, func() error {
		stop, ok := toolsource.Watch(s.src, func() {
			if after.Load() {
				late.Add(1)
			}
		})
		if !ok || stop == nil {
			return errors.New("the stop function is nil")
		}
		stop()
		after.Store(true)
		stop()
		return nil
	}); err != nil {
		return err
	}
	if _, err := s.discover(ctx); err != nil { // listing may be what makes it notice a change
		return err
	}
	if n := late.Load(); n > 0 {
		return fmt.Errorf("changes are told %d times after stop", n)
	}
	return nil
}

func checkUsers(ctx context.Context, s *subject) error {
	if !has[toolsource.UserSource](s.src) {
		return absent("it is no UserSource: everybody shares it")
	}
	u, err := toolsource.NewUser("sourcetest")
	if err != nil {
		return err
	}
	made := make(chan toolsource.ToolSource, 1)
	if err := ends("ForUser", soon, func() error {
		us, _, err := toolsource.SourceForUser(s.src, u)
		if err != nil {
			return err
		}
		made <- us
		return nil
	}); err != nil {
		return err
	}
	us := <-made
	if us == nil {
		return errors.New("the user's source is nil, without an error")
	}
	if us.Name() != s.src.Name() {
		return fmt.Errorf("for a user its name is %q, not %q", us.Name(), s.src.Name())
	}
	if err := ends("Close of a user's source", patience, func() error { return toolsource.CloseSource(us) }); err != nil {
		return err
	}
	if _, err := s.discover(ctx); err != nil {
		return fmt.Errorf("once a user's source is closed: %w", err)
	}
	return nil
}

func checkStatus(_ context.Context, s *subject) error {
	if !has[toolsource.StatusSource](s.src) {
		return absent("it is no StatusSource: Sources shows the Toolbox's own view")
	}
	return ends("Status", soon, func() error {
		if st, _ := toolsource.StatusOf(s.src); st.Source != "" && st.Source != s.src.Name() {
			return fmt.Errorf("the status is of %q, the source is %q", st.Source, s.src.Name())
		}
		return nil
	})
}

func checkClaims(_ context.Context, s *subject) error {
	if !has[toolsource.Claimer](s.src) {
		return absent("it is no Claimer: it owns no names before its first listing")
	}
	return ends("Claims", soon, func() error {
		var faults []error
		claims := toolsource.Claims(s.src)
		for i, n := range claims {
			faults = append(faults, identifier(n))
			if slices.Contains(claims[:i], n) {
				faults = append(faults, fmt.Errorf("%q is claimed twice", n))
			}
		}
		return errors.Join(faults...)
	})
}

// checkClose closes twice, and calls what was resolved before.
func checkClose(ctx context.Context, s *subject) error {
	if !closes(s.src) {
		return absent("it is no io.Closer: it is dropped when it is removed")
	}
	tools, _ := s.callable(ctx) // a source that cannot list can be closed all the same
	for _, which := range []string{"Close", "the second Close"} {
		if err := ends(which, patience, func() error { return toolsource.CloseSource(s.src) }); err != nil {
			return fmt.Errorf("%s: %w", which, err)
		}
	}
	for _, t := range tools {
		_, err, stuck := t.run(ctx, sample(t.spec), soon)
		switch {
		case stuck != nil:
			return fmt.Errorf("after Close: %w", stuck)
		case err == nil:
			return fmt.Errorf("%s can be called after Close", t.spec.Name)
		case !errors.Is(err, toolsource.ErrClosed) && !errors.Is(err, toolsource.ErrUnavailable):
			return fmt.Errorf("%s called after Close gives neither ErrClosed nor ErrUnavailable: %w", t.spec.Name, err)
		}
	}
	return nil
}
