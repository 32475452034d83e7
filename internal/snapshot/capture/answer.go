package capture

import (
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// Answer is an answer with stand-ins; format is what the program prints. Paths of
// the host begin where the host's root is.
func (c Config) Answer(a snapshot.Answer, format scrub.Format) snapshot.Answer {
	argv := make([]string, len(a.Argv))
	for i, word := range a.Argv {
		argv[i] = c.Scrub.Text(c.Unrooted(word))
	}
	a.Argv = argv
	a.Failure = c.Scrub.Text(c.Unrooted(a.Failure))
	a.Out = c.Scrub.Config(format, a.Out)
	return a
}

// Unrooted takes the root out of what was said of the host, so that paths begin where
// its own root is.
func (c Config) Unrooted(text string) string {
	if c.Root.Real() {
		return text
	}
	return snapshot.Unrooted(c.Root.Dir(), text)
}
