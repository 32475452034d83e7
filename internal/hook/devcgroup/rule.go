package devcgroup

// Rule allows one character device.
type Rule struct {
	Major, Minor uint32
	// ReadOnly leaves writing as it is.
	ReadOnly bool
}

// word is what the device may be opened for, in the language of version 1.
func (r Rule) word() string {
	if r.ReadOnly {
		return "r"
	}
	return "rw"
}
