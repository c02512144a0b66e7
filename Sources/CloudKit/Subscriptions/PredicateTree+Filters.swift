import CloudKitModel
import CoreLocation
import Foundation

extension PredicateTree {
    /// Creates the predicate of a subscription's filters, for a subscription that came from the server.
    init(_ filters: [QueryFilter], in zoneID: CKRecordZone.ID?) {
        let reading = FilterTranslator(zoneID: zoneID)
        let parts = filters.map { reading.tree($0) }
        self = parts.isEmpty ? .constant(true) : parts.count == 1 ? parts[0] : .and(parts)
    }
}

/// Turns filters back into comparisons: the reverse of `QueryTranslator`.
private struct FilterTranslator {
    let zoneID: CKRecordZone.ID?

    func tree(_ filter: QueryFilter) -> PredicateTree {
        switch filter.comparator {
        case .never: .constant(false)
        case .near: near(filter)
        case .containsAllTokens: search(filter, .tokenMatches)
        case .containsAnyTokens: search(filter, .contains)
        case .equals: comparison(filter, .equal)
        case .notEquals: comparison(filter, .notEqual)
        case .lessThan: comparison(filter, .less)
        case .lessThanOrEquals: comparison(filter, .lessOrEqual)
        case .greaterThan: comparison(filter, .greater)
        case .greaterThanOrEquals: comparison(filter, .greaterOrEqual)
        case .in: comparison(filter, .in)
        case .notIn: .not(comparison(filter, .in))
        case .beginsWith: comparison(filter, .beginsWith)
        case .notBeginsWith: .not(comparison(filter, .beginsWith))
        case .listContains: comparison(filter, .contains)
        case .notListContains: .not(comparison(filter, .contains))
        case .listContainsAny: comparison(filter, .in, modifier: .any)
        case .notListContainsAny: .not(comparison(filter, .in, modifier: .any))
        case .listContainsAll: all(filter)
        case .notListContainsAll: .not(all(filter))
        case .listMemberBeginsWith: comparison(filter, .beginsWith, modifier: .any)
        case .notListMemberBeginsWith: .not(comparison(filter, .beginsWith, modifier: .any))
        }
    }

    private func comparison(
        _ filter: QueryFilter, _ comparator: PredicateComparator,
        modifier: PredicateTree.Comparison.Modifier = .direct
    ) -> PredicateTree {
        comparison(filter.key, comparator, with: value(filter.value, filter.key), modifier: modifier)
    }

    private func comparison(
        _ key: QueryKey, _ comparator: PredicateComparator, with value: PredicateValue,
        modifier: PredicateTree.Comparison.Modifier = .direct
    ) -> PredicateTree {
        .comparison(
            .init(left: expression(key), comparator: comparator, right: .constant(value), modifier: modifier))
    }

    private func all(_ filter: QueryFilter) -> PredicateTree {
        guard case .list(_, let values) = filter.value, !values.isEmpty else { return .constant(true) }
        let parts = values.map { comparison(filter.key, .contains, with: value($0, filter.key)) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private func search(_ filter: QueryFilter, _ comparator: PredicateComparator) -> PredicateTree {
        .comparison(
            .init(
                left: expression(filter.key), comparator: comparator,
                right: .constant(value(filter.value, filter.key))))
    }

    private func near(_ filter: QueryFilter) -> PredicateTree {
        let distance = PredicateExpression.function(
            "distanceToLocation:fromLocation:", [expression(filter.key), .constant(value(filter.value, filter.key))])
        return .comparison(
            .init(left: distance, comparator: .less, right: .constant(.double(filter.distance ?? 0))))
    }

    private func expression(_ key: QueryKey) -> PredicateExpression {
        switch key {
        case .field(let name): .key(name)
        case .anySearchable: .itself
        case .system(let field):
            switch field {
            case .recordName: .key("recordID")
            case .share: .key("share")
            case .parent: .key("parent")
            case .createdUserRecordName: .key("creatorUserRecordID")
            case .createdTimestamp: .key("creationDate")
            case .modifiedTimestamp: .key("modificationDate")
            case .modifiedUserRecordName: .key("lastModifiedUserRecordID")
            }
        }
    }

    private func value(_ value: FieldValue, _ key: QueryKey) -> PredicateValue {
        switch value {
        case .string(let text):
            if case .system(.recordName) = key { return .recordID(recordID(text)) }
            return .string(text)
        case .int64(let number): return .int(number)
        case .double(let number): return .double(number)
        case .timestamp(let milliseconds): return .date(FieldConverter.date(milliseconds))
        case .bytes(let bytes): return .data(Data(bytes))
        case .location(let place):
            return .location(CLLocation(latitude: place.latitude, longitude: place.longitude))
        case .reference(let reference):
            if case .system = key { return .recordID(recordID(reference.recordName)) }
            return .reference(CKReference(reference, in: zoneID ?? .default))
        case .asset: return .unsupported("CKAsset")
        case .list(_, let values): return .list(values.map { self.value($0, key) })
        }
    }

    private func recordID(_ name: String) -> CKRecordID { CKRecordID(named: name, in: zoneID ?? .default) }
}
