package report

import (
	"fmt"
	"strings"
)

// Some are the first of a list of nodes or pods, in words.
func Some(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
