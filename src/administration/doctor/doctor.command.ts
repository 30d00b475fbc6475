import { Command } from 'commander';
import type { Configuration } from '../../configuration/configuration.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { print } from '../cli/program.js';
import { type Work, withReading } from '../cli/transaction.js';
import { ACCESS_TOKEN_REMEDY, examineAccessToken } from './access-token.js';
import { API_KEY_REMEDY, examineApiKey } from './api-key.js';
import { examineConfiguration } from './configuration.js';
import { examineContents } from './contents.js';
import { examineDatabase } from './database.js';
import type { Finding } from './finding.js';
import { type GivenCredentials, readGivenCredentials } from './given-credentials.js';
import { ISSUER_REMEDY, examineIssuer } from './issuer.js';
import { examineMigrations } from './migrations.js';
import { type Examination, Report } from './report.js';
import { ROLE_REMEDY, examineRole } from './role.js';
import { examineTriggers } from './triggers.js';

interface DatabaseExamination extends Omit<Examination, 'examine'> {
  /** Each has a transaction of its own: an error in one does not end the others. */
  readonly work: Work<Finding>;
  /** The subject of an examination further up. If that has a fault, there is nothing to look at here. */
  readonly needs: string;
}

const DATABASE_EXAMINATIONS: readonly DatabaseExamination[] = [
  { subject: 'migrations', needs: 'database', work: examineMigrations },
  { subject: 'role', needs: 'database', work: examineRole, remedy: ROLE_REMEDY, concerns: 'all' },
  { subject: 'contents', needs: 'database', work: examineContents, concerns: 'all' },
  { subject: 'triggers', needs: 'migrations', work: examineTriggers },
];

export const doctor = new Command()
  .description('checks configuration, database and issuer, and says what to do')
  .action(async () => {
    const given = await readGivenCredentials();
    const report = new Report();
    await report.add({ subject: 'configuration', examine: examineConfiguration, concerns: 'all' });
    await addDatabase(report, given);
    if (!report.hasFault('configuration')) await addIssuers(report, given, readConfiguration(process.env));
    print(report.text);
    process.exitCode = report.isSound ? 0 : 2;
  });

async function addDatabase(report: Report, { keys }: GivenCredentials): Promise<void> {
  await report.add({
    subject: 'database',
    examine: () => withReading(examineDatabase),
    concerns: 'all',
  });
  if (report.hasFault('database')) return;
  for (const { work, needs, ...examination } of DATABASE_EXAMINATIONS) {
    if (!report.hasFault(needs)) await report.add({ ...examination, examine: () => withReading(work) });
  }
  if (report.hasFault('role')) return;
  for (const key of keys) {
    await report.add({
      subject: 'API key',
      remedy: API_KEY_REMEDY,
      concerns: 'credential',
      examine: () => withReading((client) => examineApiKey(client, key)),
    });
  }
}

async function addIssuers(report: Report, { tokens }: GivenCredentials, configuration: Configuration): Promise<void> {
  for (const issuer of configuration.OAUTH_ISSUER) {
    await report.add({
      subject: 'issuer',
      remedy: ISSUER_REMEDY,
      concerns: 'all',
      examine: () => examineIssuer(issuer, configuration),
    });
  }
  for (const token of tokens) {
    await report.add({
      subject: 'access token',
      remedy: ACCESS_TOKEN_REMEDY,
      concerns: 'credential',
      examine: () => examineAccessToken(token, configuration),
    });
  }
}
