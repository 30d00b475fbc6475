// Imported first by each program, which imports everything else afterwards: on an older Node.js that would fail with an error of Node.js itself.
const { node } = process.versions;
const [major = 0, minor = 0] = node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Node.js ${node} is too old: version 20.19 or later is needed.\n`);
  process.exit(1);
}
