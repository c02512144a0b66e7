import CommandSettings
import Foundation
import Logging

/// The files that settings of `welkin serve` name, and that a cloud reads.
struct SettingsFiles {
    var settings: EffectiveSettings

    private static let certificate = "tls-certificate"
    private static let key = "tls-key"

    /// Refuses files that are not there, and a certificate that is not one. Files that only the cloud's user may read are left alone.
    ///
    /// - Throws: `CommandFailure`.
    func check() throws {
        for setting in settings.settings {
            let name = setting.option.name
            guard name.hasSuffix("-file") || name == Self.certificate || name == Self.key else { continue }
            for path in setting.values where path != "-" && !path.isEmpty && Self.isMissing(path) {
                throw CommandFailure(
                    "`\(name)` (\(SettingText.place(of: setting))) names a file that does not exist: \(path)")
            }
        }
        guard let certificate = value(Self.certificate), let key = value(Self.key),
            access(certificate, R_OK) == 0, access(key, R_OK) == 0
        else { return }
        do {
            _ = try TLSFiles(certificate: certificate, key: key, logger: Logger(label: "welkin"))
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    private func value(_ name: String) -> String? { settings.settings.first { $0.option.name == name }?.values.last }

    private static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
    }
}
