//go:build !race

package teatest

// stormChecks is how many storms a test plays: those of both tests are 10,000 keys, pastes, resizes, asks and deadlines.
const stormChecks = "8"
