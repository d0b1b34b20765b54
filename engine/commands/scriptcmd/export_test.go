package scriptcmd

// What tests reach of the package's inside.

const ErrScriptArity = errScriptArity
const ErrScriptDynamic = errScriptDynamic
const ErrScriptForeign = errScriptForeign
const ErrScriptRefused = errScriptRefused
const ErrScriptUnknown = errScriptUnknown
const ErrScriptWhole = errScriptWhole
const ErrScriptWrites = errScriptWrites
const SearchedKeys = searchedKeys
