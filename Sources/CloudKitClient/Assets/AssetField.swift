import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import Foundation

/// A file of the app that a save sends, unless the server has its contents.
package protocol OutgoingAsset: Sendable {
    /// The app's file; nil: it has none on this device.
    var fileURL: URL? { get }
    /// The server's copy, if the file is still the one it was sent from; nil: it has to be sent.
    var kept: UploadedAsset? { get }
    /// The file of the server that is to be copied, perhaps from another container; nil: none.
    var imported: ImportedAsset? { get }
    /// Notes that the file is on its way.
    func note(sending stamp: FileStamp)
}

/// A file that the server holds for a record of this account, to be copied for another.
package struct ImportedAsset: Hashable, Sendable {
    /// The URL from which it can be downloaded for some hours.
    package var downloadURL: String
    /// Bytes, as the server holds them.
    package var size: Int64
    /// The checksum of the bytes that the server holds.
    package var fileChecksum: String
    /// The key that seals the file; nil: the file is plain.
    package var secret: AssetSecret?

    /// Creates a description of a file.
    package init(downloadURL: String, size: Int64, fileChecksum: String, secret: AssetSecret?) {
        self.downloadURL = downloadURL
        self.size = size
        self.fileChecksum = fileChecksum
        self.secret = secret
    }
}

/// A field of assets on its way to the server.
package struct AssetField: Sendable {
    /// The name of the field.
    package var name: String
    /// A Boolean value that indicates whether the field is a list.
    package var isList: Bool
    /// The assets of the field in order; at most one unless the field is a list.
    package var assets: [any OutgoingAsset]

    /// Creates a field of assets.
    package init(name: String, isList: Bool, assets: [any OutgoingAsset]) {
        self.name = name
        self.isList = isList
        self.assets = assets
    }

    /// Each asset with its place in the record.
    var slots: [(AssetSlot, any OutgoingAsset)] {
        assets.enumerated().map { (AssetSlot(field: name, position: isList ? $0 : nil), $1) }
    }
}

/// A field of assets whose files the server has.
struct AssetFieldValue: Hashable, Sendable {
    struct Element: Hashable, Sendable {
        var value: AssetValue
        /// The key that seals the file; nil: it is plain.
        var secret: AssetSecret?
    }

    var name: String
    var isList: Bool
    var elements: [Element]

    /// The checksum of each file, with its place in the record.
    var fileChecksums: [(AssetSlot, String)] {
        elements.enumerated().map { position, element in
            (AssetSlot(field: name, position: isList ? position : nil), element.value.fileChecksum)
        }
    }

    /// The field as a change sends it: each key sealed for its place.
    ///
    /// - Parameter sealer: Of the record; nil where nothing is sealed.
    /// - Throws: `EncryptionError`, `RequestFailure`.
    func field(sealedBy sealer: RecordSealer?) throws -> Field {
        let values = try elements.enumerated().map { position, element in
            var value = element.value.sent
            if let secret = element.secret, let sealer {
                let key = try sealer.seal(secret, field: name, position: isList ? position : nil)
                value.wrappingKey = Data(key).base64EncodedString()
            }
            return FieldValue.asset(value)
        }
        guard !isList, let single = values.first else { return try Field(name: name, value: .list(.asset, values)) }
        return try Field(name: name, value: single)
    }
}

extension Record {
    /// Returns the keys of the files of the record's assets.
    ///
    /// Next to sealed values a file has a key as well, so that a cloud which replaces a sealed file by a plain one is
    /// detected where the record holds any other sealed value. A record without protection may hold files of web
    /// clients, which have no keys.
    ///
    /// - Throws: `EncryptionError`; `RequestFailure` for a field that cannot be read.
    func assetSecrets(_ sealer: RecordSealer) throws -> [AssetSlot: AssetSecret] {
        var secrets: [AssetSlot: AssetSecret] = [:]
        for (slot, value) in try assets() {
            guard let key = value.wrappingKey.flatMap({ Data(base64Encoded: $0) }) else {
                throw EncryptionError.malformed(.assetKey(field: slot.field), reason: "it is missing")
            }
            secrets[slot] = try sealer.openAsset(Array(key), field: slot.field, position: slot.position)
        }
        return secrets
    }

    /// A Boolean value that indicates whether the record holds assets.
    var hasAssets: Bool { fields.contains { $0.type.base == .asset && !$0.type.isEncrypted } }

    /// The assets in the fields, each with its place.
    ///
    /// - Throws: `internalError` when a field cannot be read.
    package func assets() throws(RequestFailure) -> [(slot: AssetSlot, value: AssetValue)] {
        var assets: [(AssetSlot, AssetValue)] = []
        for field in fields where field.type.base == .asset && !field.type.isEncrypted {
            switch try field.value() {
            case .asset(let value): assets.append((AssetSlot(field: field.name), value))
            case .list(_, let values):
                for case (let position, .asset(let value)) in values.enumerated() {
                    assets.append((AssetSlot(field: field.name, position: position), value))
                }
            default: break
            }
        }
        return assets
    }
}
