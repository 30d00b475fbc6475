// Imported before oidc-provider, to suppress two warnings that do not apply to the demo: that it keeps its data in memory, and that this
// version of Node.js is not one of long-term support.
const { warn } = console;
console.warn = (...words: unknown[]) => {
  if (!String(words[0]).includes('oidc-provider WARNING')) warn(...words);
};
