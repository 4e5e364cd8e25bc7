package cells

import "strings"

// Tabs draws the tabs of a safe text as the room that they mean. askbridge.SafeText writes a tab as a sign, because
// terminals differ in what they make of one; in lines of code the sign would be in the way.
func Tabs(s string) string { return strings.ReplaceAll(s, "‹TAB›", "    ") }
