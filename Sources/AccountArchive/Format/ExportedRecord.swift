import CloudKitModel

/// A record as an export holds it: every value in clear.
package struct ExportedRecord: Hashable, Sendable {
    /// The name of the record.
    package var recordName: String
    /// The record type.
    package var recordType: String
    /// The change tag that the cloud had.
    package var changeTag: String
    /// The creation.
    package var created: Stamp
    /// The last modification.
    package var modified: Stamp
    /// The name of the parent record.
    package var parent: String?
    /// The name of the share whose root the record is.
    package var share: String?
    /// The fields, sorted by name.
    package var fields: [ExportedField]
    /// The reason why the record is incomplete; nil: it is complete.
    package var problem: String?
}

/// A field of an exported record.
package struct ExportedField: Hashable, Sendable {
    /// The value of a field.
    package enum Content: Hashable, Sendable {
        /// The JSON of the value.
        case json([UInt8])
        /// The files of assets; one, unless the field is a list.
        case files([ExportedAsset])
    }

    /// The name of the field.
    package var name: String
    /// The type; `isEncrypted` says that the cloud holds the value sealed.
    package var type: FieldType
    /// The value.
    package var content: Content
}

/// A file of an asset in an export.
package struct ExportedAsset: Hashable, Sendable {
    /// SHA-256 of the bytes, in hexadecimal: the name of the file in the folder `files`.
    package var sha256: String
    /// The length in bytes.
    package var size: Int64

    /// The path in the export.
    package var path: String { Self.folder + "/" + sha256 }

    /// The folder of all files of assets.
    package static let folder = "files"

    /// Returns whether a text is the name of such a file: 64 hexadecimal digits.
    static func isName(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}

extension ExportedRecord {
    /// The names of the records of the same zone that have to be there before this one: its parent, and those on which the cloud, or the
    /// deletion of the record, depends.
    package var needed: [String] {
        var names = parent.map { [$0] } ?? []
        for field in fields where field.type.base == .reference {
            guard case .json(let json) = field.content,
                let value = try? Field(name: field.name, type: field.type, json: json).value()
            else { continue }
            let values = if case .list(_, let values) = value { values } else { [value] }
            for case .reference(let reference) in values where reference.action != .none {
                names.append(reference.recordName)
            }
        }
        return names
    }

    /// The paths of the files of assets.
    package var assets: [ExportedAsset] {
        fields.flatMap { field -> [ExportedAsset] in
            if case .files(let files) = field.content { files } else { [] }
        }
    }
}
