// Package teatest tests the whole program: its screens against golden files, the demo and the real agent in a
// real terminal, and the rules of the house. Run its tests with -update to accept new screens.
package teatest
