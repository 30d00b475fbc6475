// What callers see, of all moments: the properties of each area, the values of each property, and the records.
import { groupBy } from '../../../collections/group-by.js';
import type { Validity } from '../../../database/entities.js';
import { ALWAYS, AREAS, type CodeRows, isInForce } from '../../../lookups/code-rows.js';

export type Kind = 'property' | 'value' | 'record';

export interface SeenList {
  readonly area: string;
  readonly what: Kind;
  /** Of values: the property that returns them. */
  readonly property?: string;
  readonly entries: readonly Entry[];
}

export interface Entry {
  readonly name: string;
  /** Of a record. */
  readonly description?: string;
  readonly validity: Validity;
}

/** By a text that identifies a list. */
export function seenListsOf({ properties, values, records }: CodeRows): Map<string, SeenList> {
  const lists: SeenList[] = [];
  const valuesOf = groupBy(values, ({ codeList }) => codeList);
  for (const area of AREAS) {
    const ofArea = properties.filter((row) => row.area === area);
    const names = ofArea.map(({ property }) => ({ name: property, validity: ALWAYS }));
    lists.push({ area, what: 'property', entries: names });
    for (const { property, codeList } of ofArea) {
      const entries = (valuesOf.get(codeList) ?? []).map(valueEntry);
      lists.push({ area, what: 'value', property, entries });
    }
  }
  lists.push({ area: 'order-scheduling', what: 'record', entries: records.map(recordEntry) });
  return new Map(lists.map((list) => [titleOf(list), list]));
}

function valueEntry({ value, validFromMs, validUntilMs }: CodeRows['values'][number]): Entry {
  return { name: value, validity: { validFromMs, validUntilMs } };
}

function recordEntry(record: CodeRows['records'][number]): Entry {
  const { codeType, code, description, validFromMs, validUntilMs } = record;
  const name = `codeType ${JSON.stringify(codeType)}, code ${JSON.stringify(code)}`;
  return { name, description, validity: { validFromMs, validUntilMs } };
}

/** For people. Two lists never have the same title. */
export function titleOf({ area, what, property }: Omit<SeenList, 'entries'>): string {
  if (what === 'value') return `${area}, ${property}`;
  return what === 'property' ? `${area}, properties` : area;
}

export function inForceAt(entries: readonly Entry[], momentMs: number): Entry[] {
  return entries.filter(({ validity }) => isInForce(validity, momentMs));
}
