// Package page tests the web page of real nodes: the requests of the page, and how headless
// Chromium shows it at the width of a phone and of a desktop. Without Chromium the second part is
// skipped with a message. If LOCKSTEP_SCREENSHOTS names a folder, the pictures of the documentation
// are saved there (make screenshots).
package page
