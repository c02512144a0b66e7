import CBuildInfo
import CloudKitHTTP
import CloudKitServer
import OrderedStoreSQLite

/// What `welkin --version` prints: the version, the commit if the build named one, the format of its stores.
enum VersionText {
    static var text: String {
        let commit = String(cString: welkin_build_commit())
        let parts =
            (commit.isEmpty ? [] : ["commit \(commit)"]) + [
                "store format \(SQLiteStore.formatVersion), rows \(StoreUpgrade.newest)"
            ]
        return "\(BuildVersion.text) (\(parts.joined(separator: ", ")))"
    }
}
