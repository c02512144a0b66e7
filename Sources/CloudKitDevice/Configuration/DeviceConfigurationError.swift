/// The reason why a device does not know its cloud, and the remedy.
package enum DeviceConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    case endpointMissing
    case endpointMalformed(String)
    case endpointNotEncrypted(String)
    case environmentUnknown(String)
    case profileNameInvalid(String)
    case cacheLimitMalformed(variable: String, String)
    case fileUnreadable(String)
    case fileMalformed(String)
    case contactsUnreadable(String)

    /// A textual form of the value, for logs and debugging.
    package var description: String {
        switch self {
        case .endpointMissing:
            "No cloud is configured. Sign in with welkin login, or set CLOUDKIT_ENDPOINT, for instance to "
                + "http://127.0.0.1:8080, or write a cloudkit.json with the key \"endpoint\"."
        case .endpointMalformed(let text):
            "The endpoint \"\(text)\" is not a web address such as https://cloud.example.com."
        case .endpointNotEncrypted(let text):
            "The endpoint \"\(text)\" would send credentials in plain text over a network. "
                + "Use https; plain http goes to 127.0.0.1, ::1 and localhost only."
        case .environmentUnknown(let text):
            "\"\(text)\" is not an environment. Set CLOUDKIT_ENVIRONMENT to development or production."
        case .profileNameInvalid(let text):
            "\"\(text)\" cannot name a profile. Use 1 to 64 letters, digits, dots, hyphens and underscores, "
                + "the first not a dot."
        case .cacheLimitMalformed(let variable, let text):
            "\"\(text)\" is not a limit of the cache of files. Set \(variable) to a whole number from 0 on."
        case .fileUnreadable(let path):
            "The file \(path) that CLOUDKIT_CONFIGURATION names cannot be read."
        case .contactsUnreadable(let path):
            "The file \(path) of contacts cannot be read, or has more than 16 MiB. Correct CLOUDKIT_CONTACTS or \"contacts\"."
        case .fileMalformed(let path):
            "The file \(path) is not a configuration. It holds a JSON object of strings: "
                + "endpoint, container, environment, apiToken, profile, contacts; apiTokens is an object of strings."
        }
    }
}
