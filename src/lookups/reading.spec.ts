import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { createDatabase } from '../../test/support/database.js';
import { silentLogger } from '../../test/support/silent-logger.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { DatabaseClock } from '../database/database-clock.js';
import { poolOptions } from '../database/session.js';
import { PolledSnapshot } from '../snapshots/polled-snapshot.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import type { Topic } from '../snapshots/topic.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import type { Codes } from './codes.js';
import { CodesService } from './codes.service.js';

const database = await createDatabase();
const fields = parseDatabaseAddress({ DATABASE_URL: database.urlOf('order_lookup_service') });
const dataSource = new DataSource(poolOptions(fields));
const polled = new PolledSnapshot<Codes>();
let topic: Topic<Codes>;

beforeAll(async () => {
  await dataSource.initialize();
  const add = (added: Topic<Codes>): PolledSnapshot<Codes> => {
    topic = added;
    return polled;
  };
  const module = await Test.createTestingModule({
    providers: [
      CodesService,
      DatabaseClock,
      Metrics,
      { provide: SnapshotsService, useValue: { add } },
      { provide: ServiceLogger, useValue: silentLogger },
    ],
  }).compile();
  module.get(CodesService);
});
afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

/** What is served after everything was read. */
async function readAll(): Promise<Codes | undefined> {
  const named = { stamp: 'A', askedAtMonotonicMs: performance.now() };
  const result = await topic.read(dataSource.manager);
  polled.stampNamed(named);
  if (result.isServable) polled.contentRead(result.value, named);
  return polled.value;
}

it('what is served stays where a reading finds the same rows, and only there', async () => {
  const first = await readAll();
  expect(await readAll()).toBe(first);
  // Each statement changes one thing
  const changes = [
    `insert into communication_code (code_type, code, description) values ('T', 'C', 'former')`,
    `update communication_code set description = 'other' where code = 'C'`,
    `update communication_code set valid_until = '2100-01-01' where code = 'C'`,
    `update code_list_value set valid_from = '2000-01-01' where value = 'Best'`,
    `update area_property set position = 1000 where property = 'orderType'`,
    `delete from communication_code where code = 'C'`,
  ];
  let former = first;
  for (const change of changes) {
    await database.query(change);
    const present = await readAll();
    expect({ change, isOther: present !== former }).toEqual({ change, isOther: true });
    expect(await readAll()).toBe(present);
    former = present;
  }
});
