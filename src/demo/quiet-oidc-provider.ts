// Imported before oidc-provider, which warns of two things that are meant here: that it keeps nothing on disk, and that the version of
// Node.js is newer than the first that bears the name of a long-term support line. Nobody who reads them could act on them.
const { warn } = console;
console.warn = (...words: unknown[]) => {
  if (!String(words[0]).includes('oidc-provider WARNING')) warn(...words);
};
