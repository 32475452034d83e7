package procfs

import "strings"

// parseCgroup finds the container in the text of /proc/PID/cgroup: the first
// name in a path that is an ID of 64 hexadecimal digits, bare or as engines dress
// it ("docker-ID.scope"). First means outermost: in a container of a container it
// is the outer one that this host's engines know.
func parseCgroup(text string) string {
	for line := range strings.Lines(text) {
		// id:controllers:path, where a path may have colons.
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, _ := strings.Cut(rest, ":")
		for name := range strings.SplitSeq(path, "/") {
			name = strings.TrimSuffix(name, ".scope")
			name = name[strings.LastIndexAny(name, "-:")+1:]
			if fullID(name) {
				return name
			}
		}
	}
	return ""
}

// fullID reports whether the text is a container's ID in full.
func fullID(id string) bool { return len(id) == 64 && strings.Trim(id, "0123456789abcdef") == "" }
