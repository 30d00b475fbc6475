import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { PROJECT } from '../support/program.js';

/** A Kubernetes object as it was written; what it may hold is the schema's matter. */
type Manifest = Readonly<Record<'apiVersion' | 'kind', string>>;

const FOLDER = join(PROJECT, 'deploy', 'kubernetes');

export const files = readdirSync(FOLDER).filter(
  (name) => name.endsWith('.yaml') && name !== 'kustomization.yaml',
);
export const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');
export const documents = (file: string): Manifest[] =>
  parseAllDocuments(read(file), { uniqueKeys: true, strict: true }).map((document) => {
    if (document.errors[0]) throw document.errors[0];
    return document.toJS() as Manifest;
  });
