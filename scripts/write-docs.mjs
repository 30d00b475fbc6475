// Writes the parts of pages that are made from other files: the table of variables in docs/operators.md, from .env.example and the
// defaults in the code. Needs a build. With --check it
// writes nothing, and fails where a page differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const PROJECT = join(import.meta.dirname, '..');
const PAGE = 'docs/operators.md';

/** Variables with their explanation, as .env.example groups them. */
function groupsOf(example) {
  const paragraphs = example.trim().split('\n\n').slice(1); // the first one is about the file
  return paragraphs.map((paragraph) => {
    const lines = paragraph.split('\n').map((line) => line.replace(/^# ?/, ''));
    const variables = lines.flatMap((line) => {
      const [, name, value] = /^([A-Z][A-Z_]+)=(.*)$/.exec(line) ?? [];
      return name ? [{ name, value }] : [];
    });
    const meaning = lines.filter((line) => !/^[A-Z][A-Z_]+=/.test(line)).join(' ');
    return { variables, meaning };
  });
}

/** The table of variables. A value in the example that is not the default is shown as an example. */
function configurationTable(example, defaults) {
  const code = (texts) => texts.map((text) => `\`${text}\``).join(', ');
  const rows = groupsOf(example).map(({ variables, meaning }) => {
    const known = variables.map(({ name }) => String(defaults[name] ?? ''));
    const examples = variables.filter(({ value }, at) => value && value !== known[at]);
    const shown =
      examples.length > 0 ? ` Example: ${code(examples.map(({ value }) => value))}` : '';
    const values = known.filter(Boolean);
    return `| ${code(variables.map(({ name }) => name))} | ${values.length > 0 ? code(values) : 'none'} | ${meaning.replaceAll('|', '\\|')}${shown} |`;
  });
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

const { Configuration } = await import('../dist/configuration/configuration.js');
const read = (name) => readFileSync(join(PROJECT, name), 'utf8');
const table = configurationTable(read('.env.example'), new Configuration());
const page = read(PAGE);
const written = page.replace(
  /(<!-- configuration: [^>]* -->\n)[^]*(<!-- end of configuration -->)/,
  (_, start, end) => `${start}\n${table}\n\n${end}`,
);
if (process.argv.includes('--check') && written !== page) {
  console.error(`${PAGE} differs from .env.example: run node scripts/write-docs.mjs`);
  process.exit(1);
}
if (written !== page) writeFileSync(join(PROJECT, PAGE), written);
