// SPDX-License-Identifier: Apache-2.0

package protocol

import "regexp"

// hostMount is where the charts mount directories of the host in containers.
const hostMount = "/host"

var (
	mounted = regexp.MustCompile(`(^|[^\w./-])` + hostMount + `/`)
	record  = regexp.MustCompile(`([.;:] (Once per boot|Record again|write it again))?: sudo metax-ctk cdi generate`)
	trial   = regexp.MustCompile(`\. To try without one: metax-ctk --node \S+ topology print`)
)

// InCluster returns a text of packages that the node tool shares as a cluster's administrator
// needs it: files by their paths on the host, and no next step that only a host with the node
// tool has.
func InCluster(text string) string {
	text = mounted.ReplaceAllString(text, "${1}/")
	text = record.ReplaceAllString(text, "; "+Device+" records the node when its pod there starts")
	return trial.ReplaceAllString(text, "")
}
