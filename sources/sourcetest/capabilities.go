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
	if !has[toolsource.Watcher](s.links) {
		return absent("it is no Watcher: a Toolbox lists it again only on Refresh")
	}
	var after atomic.Bool
	var late atomic.Int32
	if err := does(ctx, "Watch and its stop, called twice,", soon, func() error {
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
	if !has[toolsource.UserSource](s.links) {
		return absent("it is no UserSource: everybody shares it")
	}
	u, err := toolsource.NewUser("sourcetest")
	if err != nil {
		return err
	}
	us, err := step(ctx, "ForUser", soon, func() (toolsource.ToolSource, error) {
		us, _, err := toolsource.SourceForUser(s.src, u)
		return us, err
	})
	switch {
	case err != nil:
		return err
	case us == nil:
		return errors.New("the user's source is nil, without an error")
	}
	if err := does(ctx, "Name of a user's source", soon, func() error {
		if a, b := us.Name(), s.src.Name(); a != b {
			return fmt.Errorf("for a user its name is %q, not %q", a, b)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := does(ctx, "Close of a user's source", closing, func() error { return toolsource.CloseSource(us) }); err != nil {
		return err
	}
	if _, err := s.discover(ctx); err != nil {
		return fmt.Errorf("once a user's source is closed: %w", err)
	}
	return nil
}

func checkStatus(ctx context.Context, s *subject) error {
	if !has[toolsource.StatusSource](s.links) {
		return absent("it is no StatusSource: Sources shows the Toolbox's own view")
	}
	return does(ctx, "Status", soon, func() error {
		if st, _ := toolsource.StatusOf(s.src); st.Source != "" && st.Source != s.src.Name() {
			return fmt.Errorf("the status is of %q, the source is %q", st.Source, s.src.Name())
		}
		return nil
	})
}

func checkClaims(ctx context.Context, s *subject) error {
	if !has[toolsource.Claimer](s.links) {
		return absent("it is no Claimer: it owns no names before its first listing")
	}
	return does(ctx, "Claims", soon, func() error {
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
	if !s.closes() {
		return absent("it is no io.Closer: it is dropped when it is removed")
	}
	var tools []tried // a source that cannot list can be closed all the same
	if !s.lame {
		tools, _ = s.callable(ctx)
	}
	for _, which := range []string{"Close", "the second Close"} {
		err := s.close(ctx, closing)
		switch {
		case isBlocked(err) || errors.Is(err, toolsource.ErrPanic):
			return err
		case err != nil:
			return fmt.Errorf("%s: %w", which, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for _, t := range tools {
		_, err, stuck := t.run(ctx, sample(t.spec))
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
