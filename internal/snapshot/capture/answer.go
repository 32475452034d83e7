package capture

import (
	"github.com/metax-ctk/container-toolkit/internal/snapshot"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// Answer is an answer with stand-ins; format is what the program prints. Paths of
// the host begin where the Scrubber says that its root is.
func (c Config) Answer(a snapshot.Answer, format scrub.Format) snapshot.Answer {
	argv := make([]string, len(a.Argv))
	for i, word := range a.Argv {
		argv[i] = c.Scrub.Text(word)
	}
	a.Argv = argv
	a.Failure = c.Scrub.Text(a.Failure)
	a.Out = c.Scrub.Config(format, a.Out)
	return a
}
