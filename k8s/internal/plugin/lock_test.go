package plugin

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAsk: what the API server refuses is asked once, and what it may permit later again.
func TestAsk(t *testing.T) {
	for name, c := range map[string]struct {
		first error
		want  int
	}{
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{}, "n", nil), 1},
		"bad":       {apierrors.NewBadRequest("x"), 1},
		"gone":      {apierrors.NewNotFound(schema.GroupResource{}, "n"), 1},
		"forbidden": {apierrors.NewForbidden(schema.GroupResource{}, "n", nil), 2},
		"busy":      {apierrors.NewTooManyRequestsError("x"), 2},
		"away":      {errors.New("away"), 2},
	} {
		asked := 0
		err := Locker{wait: time.Minute}.ask(t.Context(), func(context.Context) error {
			if asked++; asked == 1 {
				return c.first
			}
			return nil
		})
		if asked != c.want || (err == nil) != (c.want == 2) {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
	}
}
