// SPDX-License-Identifier: Apache-2.0

package dockerargs

import "slices"

// Plugin returns the words that docker passes to its plugin of that name as those of docker
// itself. Docker passes all of its words: those before the name are its own flags, or ask
// for the plugin's help or completion.
func Plugin(words []string, name string, client Client) []string {
	l := lexer{words: words, known: []Table{client.Global}}
	if _, _, err := l.readFlags(); err != nil {
		return words
	}
	at := l.next
	if at < len(words) && slices.Contains([]string{"help", "__complete", "__completeNoDesc"}, words[at]) {
		at++
	}
	if at == len(words) || words[at] != name {
		return words
	}
	return slices.Delete(slices.Clone(words), at, at+1)
}
