package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknown reports an ID that no check has.
var ErrUnknown = errors.New("no such check")

// Choose returns the checks with the IDs, all if there are none, but for those to
// be skipped. Each word is an ID or several with commas.
func Choose(ids, skip []string) ([]Check, error) {
	chosen, err := split(ids)
	if err != nil {
		return nil, err
	}
	skipped, err := split(skip)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(Checks(), func(c Check) bool {
		return len(chosen) > 0 && !slices.Contains(chosen, c.ID) || slices.Contains(skipped, c.ID)
	}), nil
}

func split(words []string) ([]string, error) {
	var ids []string
	for _, word := range words {
		for id := range strings.SplitSeq(word, ",") {
			if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.ID == id }) {
				return nil, fmt.Errorf("%w: %q (metax-ctk doctor --list)", ErrUnknown, id)
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}
