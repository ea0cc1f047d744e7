package sourcetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/toolsource/toolsource"
)

// calling has f call each harmless tool, with a context that is over soon: a tool that takes longer than
// that is not tried to its end.
func (s *subject) calling(ctx context.Context, f func(context.Context, tried) error) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		ctx, cancel := context.WithTimeout(ctx, soon)
		err := f(ctx, t)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCancelledCalls calls with a context that has ended, and with one that ends on the way.
func checkCancelledCalls(ctx context.Context, s *subject) error {
	return s.calling(ctx, func(ctx context.Context, t tried) error {
		return ending(ctx, func(ctx context.Context) error {
			_, _, stuck := t.run(ctx, sample(t.spec))
			return stuck
		})
	})
}

func checkUntouched(ctx context.Context, s *subject) error {
	return s.calling(ctx, func(ctx context.Context, t tried) error {
		args := sample(t.spec)
		args["sourcetest_extra"] = map[string]any{"list": []any{int64(1), 2.0}}
		before := toolsource.ToolSpec{Meta: args}.Clone().Meta
		for _, given := range []map[string]any{args, nil} {
			if _, _, stuck := t.run(ctx, given); stuck != nil {
				return stuck
			}
		}
		if !reflect.DeepEqual(before, args) {
			return fmt.Errorf("%s was called with %v, which then was %v", t.spec.Name, before, args)
		}
		return nil
	})
}

func checkResults(ctx context.Context, s *subject) error {
	return s.calling(ctx, func(ctx context.Context, t tried) error {
		res, err, stuck := t.run(ctx, sample(t.spec))
		if stuck != nil {
			return stuck
		}
		if err != nil {
			return nil // made-up arguments need not please a tool
		}
		if err := allowed(res.Value, "value", 0); err != nil {
			return fmt.Errorf("the result of %s: %w; make it with toolsource.Value", t.spec.Name, err)
		}
		return nil
	})
}

// allowed reports what a result's value must not hold.
func allowed(v any, at string, depth int) error {
	if depth > 1000 {
		return fmt.Errorf("%s holds itself, or is nested more than 1000 deep", "value")
	}
	switch v := v.(type) {
	case nil, bool, int64, string, toolsource.Blob:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", at, v)
		}
	case json.Number:
		if _, err := v.Int64(); err == nil || !json.Valid([]byte(v)) {
			return fmt.Errorf("%s is the json.Number %q, which is for integers outside int64", at, v)
		}
	case []any:
		for i, e := range v {
			if err := allowed(e, fmt.Sprintf("%s[%d]", at, i), depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for k, e := range v {
			if err := allowed(e, at+"."+k, depth+1); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%s is a %T", at, v)
	}
	return nil
}

func checkConcurrentCalls(ctx context.Context, s *subject) error {
	return s.calling(ctx, func(ctx context.Context, t tried) error {
		_, alone, stuck := t.run(ctx, sample(t.spec))
		if stuck != nil {
			return stuck
		}
		return does(ctx, "a call of "+t.spec.Name+" at once with others", 0, func() error {
			return together(func() error {
				_, err := t.call(ctx, sample(t.spec))
				if err != nil && alone == nil && ctx.Err() == nil {
					return fmt.Errorf("%s works alone, and called at once with others fails: %w", t.spec.Name, err)
				}
				return nil
			})
		})
	})
}
