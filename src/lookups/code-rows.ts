// The rows that the answers are made of, of all moments.
import type {
  AreaProperty,
  CodeListValue,
  CommunicationCode,
  Validity,
} from '../database/entities.js';
import { RefusedSnapshot } from '../snapshots/topic.js';

export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];

/** Everything that the three operations are answered from, in the order of the answers. */
export interface CodeRows {
  readonly properties: readonly AreaProperty[];
  readonly values: readonly CodeListValue[];
  readonly records: readonly CommunicationCode[];
}

export const ALWAYS: Validity = { validFrom: -Infinity, validUntil: Infinity };

/** @param momentMs in milliseconds since the epoch */
export const isInForce = ({ validFrom, validUntil }: Validity, momentMs: number): boolean =>
  validFrom <= momentMs && momentMs < validUntil;

/**
 * The constraints of the database prevent these faults. If one was dropped, callers must not get broken answers.
 * @throws RefusedSnapshot if an area has no property, or a name is empty or occurs twice in its place
 */
export function assertServable({ properties, values, records }: CodeRows): void {
  for (const area of AREAS) {
    if (properties.some((property) => property.area === area)) continue;
    throw new RefusedSnapshot(
      `the area ${area} has no property: area_property needs a row for each`,
    );
  }
  const ofAreas = new Names('area');
  for (const { area, property } of properties) ofAreas.add(area, property);
  const ofLists = new Names('list');
  for (const { codeList, value } of values) ofLists.add(codeList, value);
  const ofCodeTypes = new Names('code type');
  for (const { codeType, code } of records) ofCodeTypes.add(codeType, code);
}

/** Names of one kind of place. The rows of a place follow each other, so only the names of the last one are kept. */
class Names {
  private place: string | undefined;
  private names = new Set<string>();

  constructor(private readonly kind: string) {}

  add(place: string, name: string): void {
    if (place !== this.place) {
      this.place = place;
      this.names = new Set();
    }
    if (name.trim() === '') this.refuse(`holds the empty name ${JSON.stringify(name)}`);
    if (this.names.has(name)) this.refuse(`holds ${JSON.stringify(name)} twice`);
    this.names.add(name);
  }

  private refuse(fault: string): never {
    throw new RefusedSnapshot(`the ${this.kind} ${JSON.stringify(this.place)} ${fault}`);
  }
}
