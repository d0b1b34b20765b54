// Package page looks at the web page of real nodes: at what it fetches, and at
// what headless Chromium makes of it, at the width of a phone as on a desk.
// Without Chromium that part is skipped, loudly. With LOCKSTEP_SCREENSHOTS set to
// a folder the pictures of the documentation are taken there (make screenshots).
package page
