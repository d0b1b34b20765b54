package scriptcmd

// Internals of the package that tests in other packages use.

const ErrScriptArity = errScriptArity
const ErrScriptDynamic = errScriptDynamic
const ErrScriptForeign = errScriptForeign
const ErrScriptRefused = errScriptRefused
const ErrScriptUnknown = errScriptUnknown
const ErrScriptWhole = errScriptWhole
const ErrScriptWrites = errScriptWrites
const SearchedKeys = searchedKeys
