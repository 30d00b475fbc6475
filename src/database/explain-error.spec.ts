import { expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { explainError } from './explain-error.js';

function explain(message: string): unknown {
  return explainError(Object.assign(new DatabaseError(message, 1, 'error'), { routine: 'check_enable_rls' }));
}

it.each([
  {
    language: 'English',
    message: 'query would be affected by row-level security policy for table "revision"',
    table: 'revision',
  },
  {
    language: 'German',
    message: 'Policy für Sicherheit auf Zeilenebene für Tabelle »revision« würde Auswirkung auf die Anfrage haben',
    table: 'revision',
  },
  {
    language: 'French',
    message:
      'la requête pourrait être affectée par une politique de sécurité au niveau ligne pour la table « revision »',
    table: 'revision',
  },
  { language: 'one without quotes', message: 'the table revision', table: 'TABLE' },
])('how to mend row level security names the table of a message in $language', ({ message, table }) => {
  const expected = `${message}. As the owner: alter table public.${table} disable row level security;`;
  expect(explain(message)).toMatchObject({ message: expected });
});
