import CloudKitRecordLayer

/// The permission to download one file, for any holder.
struct AssetDownloadToken: Hashable, Sendable {
    var bearer: AssetBearer
    var id: AssetFileID
    var size: Int64
    var fileChecksum: String
    /// Milliseconds since 1970.
    var expires: Int64

    func sealed(by seal: AssetSeal) throws -> String {
        var value = ValueWriter(capacity: 256)
        bearer.write(to: &value)
        value.add(id.name)
        value.add(size)
        value.add(fileChecksum)
        value.add(expires)
        return try seal.seal(value.bytes, as: .download)
    }

    init(bearer: AssetBearer, id: AssetFileID, size: Int64, fileChecksum: String, expires: Int64) {
        self.bearer = bearer
        self.id = id
        self.size = size
        self.fileChecksum = fileChecksum
        self.expires = expires
    }

    /// nil for a text that this cloud did not seal.
    init?(_ text: String, by seal: AssetSeal) {
        guard var value = seal.open(text, as: .download), let bearer = try? AssetBearer(reading: &value),
            let name = try? value.text(), let id = AssetFileID(name: name), let size = try? value.number(Int64.self),
            let fileChecksum = try? value.text(), let expires = try? value.number(Int64.self)
        else { return nil }
        self.init(bearer: bearer, id: id, size: size, fileChecksum: fileChecksum, expires: expires)
    }
}
