// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Step is one action of a command line, with its options' values in order.
type Step struct {
	Action  string
	Options map[string][]string // by name without dashes
}

// Parse splits a command line, ACTION [--option VALUE]… [ACTION …]…, into steps.
// known has the options of each action; all take a value and may be repeated.
//
// A CDI spec may be newer than this program: Parse skips an unknown action or option up
// to the next known action and returns a warning. What is wrong in any version, such as
// an option without a value, is an error.
func Parse(args []string, known map[string][]string) (steps []Step, warnings []string, err error) {
	var step *Step // nil before the first action and in an unknown one
	isAction := func(word string) bool { _, ok := known[word]; return ok }
	skipping := false
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		name, value, joined := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		switch {
		case isAction(word):
			steps = append(steps, Step{Action: word, Options: map[string][]string{}})
			step, skipping = &steps[len(steps)-1], false
		case skipping: // an option of an unknown action
		case !strings.HasPrefix(word, "--"):
			if step != nil && word == "" {
				return nil, nil, fmt.Errorf("parse arguments: empty word after %s", step.Action)
			}
			warnings = append(warnings, fmt.Sprintf("action %q is not known to this version, skipped", word))
			step, skipping = nil, true
		case step == nil:
			return nil, nil, fmt.Errorf("parse arguments: option %q stands before the action", word)
		case !slices.Contains(known[step.Action], name):
			warnings = append(warnings,
				fmt.Sprintf("option %q of %s is not known to this version, ignored", "--"+name, step.Action))
			if !joined && len(args) > 0 && !strings.HasPrefix(args[0], "--") && !isAction(args[0]) {
				args = args[1:] // its value
			}
		default:
			if !joined {
				if len(args) == 0 {
					return nil, nil, fmt.Errorf("parse arguments: option %q has no value", word)
				}
				value, args = args[0], args[1:]
			}
			step.Options[name] = append(step.Options[name], value)
		}
	}
	if len(steps)+len(warnings) == 0 {
		return nil, nil, errors.New("parse arguments: there is no action; see metax-hook --help")
	}
	return steps, warnings, nil
}
