package width

import "fmt"

//go:generate this is a directive that cannot be broken, however many columns it has, and therefore nobody reports it

// https://example.org/a/comment/of/one/word/that/cannot/be/broken/however/many/columns/it/has/and/therefore/is/not/reported
var raw = `a text of several lines
may have lines that are wider than anything else in this file, because nothing can break them without changing the text
`

// This comment has exactly as many columns as a comment may have at most, which is just 95 now
func f(a, b string) error {
	return fmt.Errorf("a message that is wider than a line may be stays in one line, because people search for it as it is: %s", a)
}

// This comment is wider than a comment may be, although the code below it might have that width. // want "more than 95 columns"
func g(a, b, c, d, e, f string) string {
	return a + b + c + d + e + f + a + b + c + d + e + f + a + b + c + d + e + f + a + b + c + d + e // want "more than 120"
}
