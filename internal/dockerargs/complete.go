// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"errors"
	"strings"
)

// Unfinished is a command line whose last word is still being written, as a shell
// completes it.
type Unfinished struct {
	// Words are the words before that one, without metax-docker's options.
	Words []string
	// Options are those of metax-docker that may come next.
	Options Table
	// Value is the option of metax-docker whose value the last word is; empty if it is not
	// one. Then there are no Words.
	Value string
}

// Complete parses the words before the last one.
func Complete(words []string, client Client) Unfinished {
	if c, ok, err := ScanCompose(words, client, nil); ok || err != nil {
		if !ok {
			return pending(words, err)
		}
		return c.unfinished()
	}
	cmd, err := scanWithOptions(words, client, options())
	if err != nil {
		return pending(words, err)
	}
	u := Unfinished{Words: cmd.Rewrite()}
	known := client.Run
	switch {
	case cmd.Verb == "" || cmd.HasImage || (cmd.end > 0 && len(words) > cmd.end && !cmd.isStart()):
		// none of our options can follow
	case cmd.isStart():
		u.Options = startOptions()
	case !awaitsValue(cmd.Flags, known):
		u.Options = optionsBeside(client.Run)
	}
	return u
}

// unfinished is the line with compose's own words alone.
func (c Compose) unfinished() Unfinished {
	line := Command{words: c.words, own: c.own}
	u := Unfinished{Words: line.Rewrite()}
	role := ComposeRoleOf(c.Verb)
	switch {
	case role == ComposeRuns && len(c.Words) > 0: // none of our options can follow
	case role == ComposeStart:
		u.Options = composeStartOptions()
	default:
		u.Options = composeOptions()
	}
	return u
}

// pending is the line that ends in an option without its value; any other error leaves
// nothing to complete but docker's words.
func pending(words []string, err error) Unfinished {
	var option *OptionError
	if errors.As(err, &option) && words[len(words)-1] == option.Option {
		return Unfinished{Value: strings.TrimPrefix(option.Option, "--")}
	}
	return Unfinished{Words: words}
}

// awaitsValue reports whether the last of these flags lacks its value.
func awaitsValue(flags Flags, known Table) bool {
	if len(flags) == 0 {
		return false
	}
	last := flags[len(flags)-1]
	spec, _ := known.byLongName(last.Name)
	return spec.Value && !last.HasValue
}
