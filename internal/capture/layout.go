// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/snapshot/scrub"
)

// captureLayout takes the files of the driver's layout that discovery reads.
func (t *taker) captureLayout() {
	dir, ok := layout.Dir(t.Root)
	if !ok {
		return
	}
	for _, number := range t.captureAndList(dir) {
		node := path.Join(dir, number)
		for _, name := range layout.NodeFiles {
			treat := scrubParsed
			if name == layout.IDFile {
				treat = withoutPrefix
			}
			t.captureFile(path.Join(node, name), maxAttribute, treat)
		}
		for _, links := range layout.LinkDirs {
			at := path.Join(node, links)
			for _, link := range t.listNames(at) {
				t.captureFile(path.Join(at, link, layout.LinkFile), maxAttribute, nil)
			}
		}
	}
}

// withoutPrefix treats a UUID that lacks its prefix as one that has it, so that both have the
// same stand-in.
func withoutPrefix(s *scrub.Scrubber, text string) string {
	return strings.TrimPrefix(scrubOneWord(scrub.UUID)(s, layout.UUIDPrefix+text), layout.UUIDPrefix)
}
