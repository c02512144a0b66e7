import CoreLocation
import Foundation

/// A value as a record keeps it: always a Foundation object, as Apple's framework does.
///
/// Storing Swift values instead would break what apps rely on: that a number set as `Int` is read as `Int64`, `Double`
/// or `NSNumber`.
typealias StoredValue = NSObject & __CKRecordObjCValue

/// Converts the values that an app sets to those that a record keeps.
enum StoredValues {
    /// nil: no field can hold this.
    static func stored(_ value: Any) -> (any StoredValue)? {
        // The wide cast of the last lines would take Swift values as well; the exact ones come first because they are
        // common and cheap.
        switch value {
        case let location as CLLocation: return location
        case let reference as CKReference: return reference
        case let asset as CKAsset: return asset
        case let text as NSString: return (text as String) as NSString
        case let number as NSNumber: return number
        case let date as NSDate: return date
        case let data as NSData: return (data as Data) as NSData
        case let list as NSArray: return storedList(list)
        default: return nil
        }
    }

    /// An element that no field can hold stays: it is refused when the record is saved.
    private static func storedList(_ list: NSArray) -> NSArray {
        var elements: [Any] = []
        elements.reserveCapacity(list.count)
        for element in list {
            elements.append(stored(element) ?? element)
        }
        return elements as NSArray
    }
}

/// The fields of a record: what they hold, what changed, and what they held when they came from the server.
// Unchecked because Foundation's objects are not marked: `StoredValues` keeps copies that no code changes.
struct RecordFields: @unchecked Sendable {
    private(set) var values: [String: any StoredValue] = [:]
    private(set) var changedKeys: Set<String> = []
    /// The values of the last fetch, decoding or save: the ancestor of a conflict (B-SAV-07).
    private(set) var original: [String: any StoredValue] = [:]

    init() {}

    /// Fields as they came from a server or an archive.
    init(
        values: [String: any StoredValue], original: [String: any StoredValue]? = nil, changedKeys: Set<String> = []
    ) {
        self.values = values
        self.original = original ?? values
        self.changedKeys = changedKeys
    }

    /// A Boolean value that indicates whether there are no values and no removals.
    var isEmpty: Bool { values.isEmpty && changedKeys.isEmpty }

    /// Returns the names of the fields that a save sends: the changed ones, or those and all existing ones (B-SAV-06).
    func keysToSend(all: Bool) -> Set<String> { all ? changedKeys.union(values.keys) : changedKeys }

    /// Sets a value. Setting an equal value is a change too (B-REC-03); nil is an explicit removal, even of a field
    /// that does not exist (B-REC-02).
    mutating func set(_ value: Any?, forKey key: String) {
        // Apple's framework raises NSInvalidArgumentException here; Swift on Linux cannot raise.
        precondition(!key.isEmpty, "key can't be an empty string")
        if let value {
            guard let stored = StoredValues.stored(value) else {
                // The same. The type alone is named: values do not belong into logs.
                preconditionFailure("Objects of class \(type(of: value)) cannot be set on CKRecord (key: \(key))")
            }
            values[key] = stored
        } else {
            values[key] = nil
        }
        changedKeys.insert(key)
    }

    /// Updates the fields from the answer to a save.
    ///
    /// - Parameters:
    ///   - sent: The fields as they were sent. Changes that the app made since are kept.
    ///   - received: Fields of the answer; those that were sent keep the app's own objects.
    ///   - isOvertaken: Whether others have changed the record since: then all fields are those that were received.
    mutating func acknowledge(sent: RecordFields, received: [String: any StoredValue], isOvertaken: Bool = false) {
        var base = isOvertaken ? received : sent.values
        for (key, value) in received where !sent.changedKeys.contains(key) {
            base[key] = value
        }
        let changedSince = changedKeys.filter { !sent.changedKeys.contains($0) || !isSame(sent, $0) }
        var merged = base
        for key in changedSince {
            merged[key] = values[key]
        }
        original = base
        values = merged
        changedKeys = changedSince
    }

    private func isSame(_ other: RecordFields, _ key: String) -> Bool {
        switch (values[key], other.values[key]) {
        case (nil, nil): true
        case (let left?, let right?): left === right
        default: false
        }
    }
}
