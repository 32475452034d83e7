// Package scrub replaces what tells whose node it is by stand-ins: in plain texts by
// form and by what was learned, in configurations by key as well. Of others'
// configurations only is kept what is known to hold no secret.
package scrub
